-- session_close: end a session in these partitions; its claims are free at once.
--
-- KEYS     PREFIX:{pNN}:session:<session>, one in each partition
-- ARGV     none
-- answers  how many requests it still holds here. Its held sets stay: they say which messages were
--          not acked, and empty as others take the requests over.
--
-- Idempotent.

local held = 0
for _, key in ipairs(KEYS) do
  local base, session = parts(key)
  call('DEL', key, base .. 'cancelled:' .. session, base .. 'answers:' .. session)
  held = held + call('HLEN', base .. 'held:' .. session)
end
return held
