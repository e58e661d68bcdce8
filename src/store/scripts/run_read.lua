-- run_read: where a run stands. Changes nothing.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     none
-- answers  nil where there is none, else {status, step, requests, revision, pending, model, goal,
--          report, reason, {decision, result, ...}, {requests, tokens, cost, descendants}} with nil
--          for what it does not have; the last as the record counts them

local base, member = parts(KEYS[1])
local run = call('HMGET', base .. 'run:' .. member,
  'status', 'step', 'requests', 'revision', 'pending', 'model', 'goal', 'report', 'reason')
if not run[1] then return false end
run[10] = call('LRANGE', base .. 'ops:' .. member, 0, -1)
run[11] = call('HMGET', KEYS[1], unpack(GOODS))
return run
