-- read: where requests stand. Changes nothing.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV     none
-- answers  per key, in their order: nil where there is no record, else
--            {now, state, owner, alive, cancel, corr, attempts, t0, t1, result}
--          with alive 0 or 1, times in ms since 1970, and nil for what the record does not have

local now = now_ms()
local answers = {}
for i, key in ipairs(KEYS) do
  local record = redis.call('HMGET', key,
    'state', 'owner', 'cancel', 'corr', 'attempts', 't0', 't1', 'result')
  local alive = record[2] and lives(parts(key), record[2])
  answers[i] = record[1] and {now, record[1], record[2], alive and 1 or 0, record[3], record[4],
    tonumber(record[5]) or 0, tonumber(record[6]) or false, tonumber(record[7]) or false, record[8]}
end
return answers
