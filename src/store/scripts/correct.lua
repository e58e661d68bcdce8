-- correct: replace the result of a done record by the bytes that were published, which win.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  the published bytes
-- answers  'corrected', or 'kept' where the record is not done or is a tombstone, which has no bytes
--
-- Idempotent: the same bytes again change nothing.

if call('HGET', KEYS[1], 'state') ~= 'done' then return 'kept' end
local result = result_of(parts(KEYS[1]))
if not call('SET', result, ARGV[1], 'XX', 'KEEPTTL') then return 'kept' end
return 'corrected'
