-- session_renew: give a session another time to live.
--
-- KEYS     PREFIX:{pNN}:session:<session>, one in each partition
-- ARGV[1]  time to live, ms
-- answers  nil where the session is missing in any of these partitions; it is never created anew.
--          Else the '<target>:<request_id>' that it holds and that are flagged for cancel, each
--          time until it commits them or lets go, so that a lost answer loses no cancel.
--
-- Idempotent.

for _, key in ipairs(KEYS) do
  if call('EXISTS', key) == 0 then return false end
end
local cancelled = {}
for _, key in ipairs(KEYS) do
  call('PEXPIRE', key, ARGV[1])
  local base, session = parts(key)
  for _, member in ipairs(call('SMEMBERS', base .. 'cancelled:' .. session)) do
    cancelled[#cancelled + 1] = member
  end
end
return cancelled
