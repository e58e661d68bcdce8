-- release: hand a claim back without counting its attempt. That of an exhausted request, which has
-- a 'last', never counted one.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  the nonce of the claim
-- ARGV[2]  what the next claim is told; '' leaves what stands there
-- answers  'released', or 'lost' where the claim is not yours (any more)
--
-- A flag for cancel stays on the record for whoever claims it next.
-- Idempotent: the first call takes the nonce away, so a second one changes nothing.

local key = KEYS[1]
local base, member = parts(key)
local record = call('HMGET', key, 'state', 'nonce', 'owner', 'attempts', 'last')
if record[1] ~= 'held' or record[2] ~= ARGV[1] then return 'lost' end
call('HDEL', key, 'owner', 'nonce', 'again', 'worker')
call('HSET', key, 'state', 'released')
if ARGV[2] ~= '' then call('HSET', key, 'carried', ARGV[2]) end
if not record[5] then call('HSET', key, 'attempts', math.max(record[4] - 1, 0)) end
call('HDEL', base .. 'held:' .. record[3], member)
call('SREM', base .. 'cancelled:' .. record[3], member)
return 'released'
