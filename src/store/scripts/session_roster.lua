-- session_roster: every session that was registered and not yet forgotten. Changes nothing.
--
-- KEYS[1]  PREFIX:{p00}:sessions
-- ARGV     none
-- answers  per session {session, lives, answers pings}, the last two 0 or 1

local base = string.match(KEYS[1], '^.-}:')
local roster = {}
for i, session in ipairs(call('HKEYS', KEYS[1])) do
  roster[i] = {session, lives(base, session) and 1 or 0,
    call('EXISTS', base .. 'answers:' .. session)}
end
return roster
