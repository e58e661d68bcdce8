-- resume: a handler was told what its request waited for.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     the nonce of the claim, the step
-- answers  the children that are dropped: those that have not ended. None where the claim is not
--          yours (any more) or another step came since; nothing was changed then
--
-- What was granted to a child that is dropped stays charged until its own end is told. A run of the
-- request goes on.
-- Idempotent: the same children are answered again.

local key = KEYS[1]
local base, member = parts(key)
local nonce, step = ARGV[1], ARGV[2]
local wait = base .. 'wait:' .. member
local record = call('HMGET', key, 'state', 'nonce', 'wait', 'steps')
if record[1] ~= 'held' or record[2] ~= nonce then return {} end
if call('HGET', wait, 'step') ~= step then return {} end

if record[3] == step then
  for i = 0, call('HGET', wait, 'count') - 1 do
    call('HSETNX', wait, 'e' .. i, 'dropped')
  end
  call('HDEL', key, 'wait')
  move_run(base, member, 'running')
  call('HSET', key, 'steps', record[4] and record[4] .. ',' .. step or step)
end
return children_that(base, member, 'dropped')
