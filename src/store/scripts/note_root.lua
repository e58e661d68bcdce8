-- note_root: write down that a chain begins with a request.
--
-- KEYS[1]  PREFIX:{pNN}:chain:<correlation_id>, in the partition of that id
-- ARGV     '<target>:<request_id>', how long this is kept, ms
-- answers  1, or 0 where it stood there
--
-- Idempotent.

local added = call('SADD', KEYS[1], ARGV[1])
call('PEXPIRE', KEYS[1], ARGV[2])
return added
