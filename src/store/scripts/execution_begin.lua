-- execution_begin: write down what somebody started who does not speak NATS.
--
-- KEYS[1]  PREFIX:{pNN}:exec:<owner>:<request_id>, in the partition of the owner
-- KEYS[2]  PREFIX:{pNN}:execs:<owner>, the owner's list: ids by when they were started
-- ARGV     fingerprint, the execution (opaque), how long it is kept in ms, its id,
--          when it was started in ms or '' where it is not listed, how many are listed at most
-- answers  1, the execution that was begun before, or 0 where that was for another request
--
-- Idempotent.

local known = call('GET', KEYS[1])
if known then
  local mark = ARGV[1] .. ' '
  if string.sub(known, 1, #mark) ~= mark then return 0 end
  return string.sub(known, #mark + 1)
end
call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])
if ARGV[5] ~= '' then
  call('ZADD', KEYS[2], ARGV[5], ARGV[4])
  call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[6])
  -- As long as the one in it that is kept longest.
  if call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then call('PEXPIRE', KEYS[2], ARGV[3]) end
end
return 1
