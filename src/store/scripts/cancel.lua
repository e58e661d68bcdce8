-- cancel: flag a request so that it ends as cancelled, unless it is done.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  how long a flag is kept where there is no record yet, ms
-- answers  {'done'}            nothing was changed
--          {'owned', session}  flagged; the live owner has to be told, and is named the request by
--                              every renewal until it commits or lets go
--          {'waiting', child, ...}  flagged; nobody owns it, and these children of it run on
--          {'flagged'}         flagged; whoever claims it next is told
--
-- What a parent only intended counts as if it had no record. A request is done as soon as a run of it
-- has ended; a run that nobody has under way is cancelled at once.
-- Idempotent: a flag is set once and answered alike.

local key = KEYS[1]
local base, member = parts(key)
local record = call('HMGET', key, 'state', 'owner')
local state, owner = record[1], record[2]
local run = call('HGET', base .. 'run:' .. member, 'status')
if state == 'done' or IS_OVER[run] and run ~= 'cancelled' then return {'done'} end
call('HSET', key, 'cancel', '1')
if not state then call('PEXPIRE', key, ARGV[1]) end
if not state or state == 'intended' then call('HSET', key, 'state', 'flagged') end
if state == 'held' and lives(base, owner) then
  call('SADD', base .. 'cancelled:' .. owner, member)
  return {'owned', owner}
end
end_run(base, member, 'cancelled', 'cancelled', '{}')
if state == 'waiting' then
  call('ZADD', base .. 'waits', 0, member)
  return {'waiting', unpack(children_that(base, member, false))}
end
return {'flagged'}
