-- run_events: what happened to a run. Changes nothing.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  the seq of the last event that is known, 0 for none
-- answers  'ms kind payload' of each event after it, oldest first

local base, member = parts(KEYS[1])
return call('LRANGE', base .. 'runevents:' .. member, ARGV[1], -1)
