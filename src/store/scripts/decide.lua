-- decide: a verdict about a request that waits for one.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     the fp of what was decided about, the verdict (JSON, opaque)
-- answers  {'taken'}             it is written down, by this call or by an earlier one that said
--                                the same
--          {'decided', verdict}  there was another before
--          {'mismatch'}          the record has another fp
--          {'not_asked'}         it does not wait for a verdict
--
-- Idempotent.

local key = KEYS[1]
local base, member = parts(key)
local record = call('HMGET', key, 'state', 'on', 'fp', 'verdict')
if record[1] and record[3] ~= ARGV[1] then return {'mismatch'} end
if record[4] == ARGV[2] then return {'taken'} end
if record[4] then return {'decided', record[4]} end
if record[1] ~= 'waiting' or record[2] ~= 'verdict' then return {'not_asked'} end
call('HSET', key, 'verdict', ARGV[2])
call('ZADD', base .. 'waits', whole(now_ms()), member)
return {'taken'}
