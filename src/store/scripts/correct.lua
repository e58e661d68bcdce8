-- correct: replace the result of a done record by the bytes that were published, which win.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  the published bytes
-- answers  'corrected', or 'kept' where the record is not done or is a tombstone, which has no bytes
--
-- Idempotent: the same bytes again change nothing.

if redis.call('HGET', KEYS[1], 'state') ~= 'done' then return 'kept' end
if redis.call('HEXISTS', KEYS[1], 'result') == 0 then return 'kept' end
redis.call('HSET', KEYS[1], 'result', ARGV[1])
return 'corrected'
