-- session_open: start a session in these partitions.
--
-- KEYS     PREFIX:{pNN}:session:<session>, one in each partition
-- ARGV[1]  the worker, for people
-- ARGV[2]  time to live, ms
-- answers  'opened'
--
-- Idempotent: opening again starts the time to live anew.

for _, key in ipairs(KEYS) do
  call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 'opened'
