-- run_create: make the run of an agent's request where there is none.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record, which need not be there
-- ARGV     how long the run is kept, ms, longer than the record; the route to its model, its goal,
--          the payload of its first event (JSON, opaque)
-- answers  'made', or 'kept' where there is one
--
-- A record that is not there is made in the state 'intended', as by intend.
-- Idempotent.

local key = KEYS[1]
local base, member = parts(key)
local run = base .. 'run:' .. member
if call('HSETNX', key, 'state', 'intended') == 1 then call('PEXPIRE', key, ARGV[1]) end
call('HSET', key, 'kin', '1')
if call('EXISTS', run) == 1 then return 'kept' end
call('HSET', run, 'status', 'queued', 'step', '0', 'requests', '0', 'revision', '0',
  'model', ARGV[2], 'goal', ARGV[3])
call('PEXPIRE', run, ARGV[1])
tell(base, member, 'created', ARGV[4], ARGV[1])
return 'made'
