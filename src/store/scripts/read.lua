-- read: where requests stand. Changes nothing.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV     none
-- answers  per key, in their order: nil where there is no record, else
--            {now, state, owner, alive, cancel, corr, attempts, t0, t1, result}
--          with alive 0 or 1, times in ms since 1970, and nil for what the record does not have

local now = now_ms()

local function read(key)
  local record = call('HMGET', key, 'state', 'owner', 'cancel', 'corr', 'attempts', 't0', 't1',
    'on', 'kin')
  local state, owner = record[1], record[2]
  if not state then return false end
  local base, member = parts(key)
  local alive = owner and lives(base, owner)
  local result = state == 'done' and call('GET', result_of(base, member))
  return {now, state, owner, alive and 1 or 0, record[3], record[4],
    tonumber(record[5]) or 0, tonumber(record[6]) or false, tonumber(record[7]) or false, result,
    record[8], kin_of(key, record[9])}
end

local answers = {}
for i, key in ipairs(KEYS) do
  answers[i] = read(key)
end
return answers
