-- settle: requests whose results are published and whose messages are acked.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV[1]  how long a tombstone is kept, ms
-- answers  per key 'settled'; the batch answers one for each
--
-- Takes the request out of its owner's held set and writes the record anew as a tombstone: state,
-- fp, corr, attempts, t0, t1. It is deleted first, because a hash that once held a long result
-- keeps the large encoding for good.
-- Idempotent: a tombstone, a record that is not done, and no record are left alone.

local function settle(key, retention)
  local record = redis.call('HMGET', key, 'state', 'owner', 'fp', 'corr', 'attempts', 't0', 't1')
  if record[1] ~= 'done' or not record[2] then return end
  local base, member = parts(key)
  redis.call('HDEL', base .. 'held:' .. record[2], member)
  redis.call('DEL', key)
  redis.call('HSET', key, 'state', 'done', 'fp', record[3], 'corr', record[4],
    'attempts', record[5], 't0', record[6], 't1', record[7])
  redis.call('PEXPIRE', key, retention)
end

local answers = {}
for i, key in ipairs(KEYS) do
  settle(key, ARGV[1])
  answers[i] = 'settled'
end
return answers
