-- settle: requests whose results are published and whose messages are acked.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV     none
-- answers  per key 'settled'; the batch answers one for each
--
-- Takes the request out of its owner's held set, drops the result, and leaves the record as a
-- tombstone: state, fp, corr, attempts, t0, t1, and what kin.lua tells of. It keeps its expiry.
-- Idempotent: a tombstone, a record that is not done, and no record are left alone.

local function settle(key)
  local record = call('HMGET', key, 'state', 'owner')
  if record[1] ~= 'done' or not record[2] then return end
  local base, member = parts(key)
  call('HDEL', base .. 'held:' .. record[2], member)
  call('DEL', result_of(base, member))
  call('HDEL', key, 'owner', 'nonce', 'cancel', 'again', 'worker', 'last')
end

local answers = {}
for i = 1, #KEYS do
  settle(KEYS[i])
  answers[i] = 'settled'
end
return answers
