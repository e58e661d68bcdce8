-- lead: lead the fleet for a while, or learn that somebody else does.
--
-- KEYS[1]  PREFIX:{p00}:leader
-- ARGV     who asks, how long the lead is theirs, ms
-- answers  1 if they lead from now on, 0 if another does
--
-- Idempotent: whoever leads is given its full time anew.

local leader = call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then return 0 end
call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
