-- session_answers: write down that a session answers pings, so that its silence means something.
--
-- KEYS[1]  PREFIX:{p00}:session:<session>
-- ARGV     none
-- answers  1, or 0 where the session is gone and nothing was written
--
-- Idempotent. Whoever ends the session takes the mark away.

local base, session = parts(KEYS[1])
if not lives(base, session) then return 0 end
call('SET', base .. 'answers:' .. session, '1')
return 1
