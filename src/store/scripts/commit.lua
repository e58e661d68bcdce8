-- commit: store the one result of requests, each fenced by the nonce of its claim.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV[1]  how long a result is kept that is not settled, ms; longer than its record
-- ARGV     then per key: nonce, '1' if the result is the answer to a cancel else '0', what was spent
--          beyond what the record says (four numbers, see kin.lua; '' for nothing), result bytes
-- answers  per key, in their order, one of
--            'committed'  the result is stored, by this call or by an earlier one with this nonce
--            'cancelled'  the record is flagged for cancel and takes only the answer to that
--            'lost'       the claim is not yours any more; nothing was stored
--
-- The result is opaque and never decoded; it lies in PREFIX:{pNN}:result:<target>:<request_id>. The
-- record keeps its expiry, and forgets what its request waited for. A run of the request that has
-- not ended ends as cancelled or failed.
-- Idempotent: the nonce that committed is answered 'committed', and the stored bytes stay.

local retention = ARGV[1]
local now_text = whole(now_ms())

local function commit(key, nonce, is_cancelled, spent, result)
  local record = call('HMGET', key, 'nonce', 'state', 'cancel', 'kin')
  if record[1] ~= nonce then return 'lost' end
  if record[2] == 'done' then return 'committed' end
  local base, member = parts(key)
  if record[3] then
    if is_cancelled ~= '1' then return 'cancelled' end
    call('SREM', base .. 'cancelled:' .. call('HGET', key, 'owner'), member)
  end
  if record[4] then
    call('DEL', base .. 'wait:' .. member)
    call('HDEL', key, 'wait')
    if is_cancelled == '1' then
      end_run(base, member, 'cancelled', 'cancelled', '{}')
    else
      end_run(base, member, 'failed', 'stopped', '{"reason":"request_ended"}')
    end
  end
  if spent ~= '' then
    call('HSET', key, 'kin', '1')
    charge(key, spent, '')
  end
  call('SET', result_of(base, member), result, 'PX', retention)
  call('HSET', key, 'state', 'done', 't1', now_text)
  return 'committed'
end

local answers = {}
for i = 1, #KEYS do
  local at = 2 + (i - 1) * 4
  answers[i] = commit(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
return answers
