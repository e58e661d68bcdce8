-- park: write down that a request waits, and which children it is owed.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV[1]  the nonce of the claim
-- ARGV[2]  how long what lies beside the record is kept, ms; longer than the record
-- ARGV[3]  the step, and ARGV[4] how many children are waited for
-- ARGV     then per child: its index, the child (JSON, opaque), what is granted to it (four
--          numbers), its message
-- answers  'parked'     the children are owed, by this call or by an earlier one for this step
--          'cancelled'  the record is flagged for cancel; nothing was changed
--          'lost'       the claim is not yours (any more); nothing was changed
--
-- Each child is charged: what is granted to it, and itself as one descendant. The state stays
-- 'held' until let_go. A run of the request waits from now on.
-- Idempotent: a step that was parked before changes nothing.

local key = KEYS[1]
local base, member = parts(key)
local kept, step, join = ARGV[2], ARGV[3], ARGV[4]
local record = call('HMGET', key, 'state', 'nonce', 'cancel')
if record[1] ~= 'held' or record[2] ~= ARGV[1] then return 'lost' end
if record[3] then return 'cancelled' end

local wait, kids, slices = base .. 'wait:' .. member, base .. 'kids:' .. member,
  base .. 'slices:' .. member
if ARGV[5] and call('HEXISTS', kids, step .. '.' .. ARGV[5]) == 1 then return 'parked' end

local count = (#ARGV - 4) / 4
call('DEL', wait)
call('HSET', wait, 'step', step, 'join', join, 'count', count, 'ended', '0')
for i = 0, count - 1 do
  local at = 5 + i * 4
  local place = step .. '.' .. ARGV[at]
  call('HSET', wait, 'c' .. i, ARGV[at + 1], 'm' .. i, ARGV[at + 3])
  call('HSET', kids, place, ARGV[at + 1])
  call('HSET', slices, place, ARGV[at + 2])
  charge(key, ARGV[at + 2], '')
end
call('HSET', key, 'kin', '1', 'wait', step)
call('HINCRBY', key, 'descendants', count)
move_run(base, member, 'waiting')
for _, beside in ipairs({wait, kids, slices}) do call('PEXPIRE', beside, kept) end
return 'parked'
