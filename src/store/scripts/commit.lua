-- commit: store the one result of requests, each fenced by the nonce of its claim.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV     per key: nonce, '1' if the result is the answer to a cancel else '0', result bytes
-- answers  per key, in their order, one of
--            'committed'  the result is stored, by this call or by an earlier one with this nonce
--            'cancelled'  the record is flagged for cancel and takes only the answer to that
--            'lost'       the claim is not yours any more; nothing was stored
--
-- The result is opaque and never decoded. The record keeps its expiry.
-- Idempotent: the nonce that committed is answered 'committed', and the stored bytes stay.

local function commit(key, nonce, is_cancelled, result, now)
  local record = redis.call('HMGET', key, 'state', 'nonce', 'cancel', 'owner')
  if record[2] ~= nonce then return 'lost' end
  if record[1] == 'done' then return 'committed' end
  if record[3] then
    if is_cancelled ~= '1' then return 'cancelled' end
    local base, member = parts(key)
    redis.call('SREM', base .. 'cancelled:' .. record[4], member)
  end
  redis.call('HSET', key, 'state', 'done', 't1', whole(now), 'result', result)
  return 'committed'
end

local now = now_ms()
local answers = {}
for i, key in ipairs(KEYS) do
  local at = 1 + (i - 1) * 3
  answers[i] = commit(key, ARGV[at], ARGV[at + 1], ARGV[at + 2], now)
end
return answers
