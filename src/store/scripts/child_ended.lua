-- child_ended: tell a parent that a child ended.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the parent's record
-- ARGV     the child's step and index, how it ended, what it spent (four numbers)
-- answers  {'wake', ack}  the parent waits for nothing more: its message is to be given back
--          {'noted'}      it waits for others, or somebody works on it
--          {'ignored'}    it does not wait for this child (any more)
--
-- The first time that a child is told of, what was granted to it is taken off the parent and what it
-- spent is added; also where the parent has gone on without it, and where it is done.
-- Idempotent: a child counts once; a parent that still waits is to be woken each time.

local key = KEYS[1]
local base, member = parts(key)
local step, index, ended, spent = unpack(ARGV)
local record = call('HMGET', key, 'state', 'wait', 'on', 'ack')
if not record[1] then return {'ignored'} end

local place, slices = step .. '.' .. index, base .. 'slices:' .. member
local slice = call('HGET', slices, place)
if slice then
  call('HDEL', slices, place)
  charge(key, slice, '-')
  charge(key, spent, '')
end

local wait = base .. 'wait:' .. member
if record[2] ~= step or call('HEXISTS', wait, 'c' .. index) == 0 then return {'ignored'} end
if call('HSETNX', wait, 'e' .. index, ended) == 1 then call('HINCRBY', wait, 'ended', 1) end
if record[1] ~= 'waiting' or record[3] ~= 'children' or not is_over(base, member) then
  return {'noted'}
end
call('ZADD', base .. 'waits', whole(now_ms()), member)
return {'wake', record[4]}
