-- How a claim is given up whose request waits. No KEYS, no ARGV, no effect of its own.

-- Gives it up, and answers as let_go and ask_verdict do. `is_there(base, member, record)` says
-- whether what it waits for is there already; record is {wait, verdict}.
local function rest(key, on, nonce, ack, deadline, look_at, is_there)
  local base, member = parts(key)
  local record = call('HMGET', key,
    'state', 'nonce', 'owner', 'attempts', 'last', 'cancel', 'rest', 'wait', 'verdict')
  if record[1] == 'waiting' and record[7] == nonce then return 'waiting' end
  if record[1] ~= 'held' or record[2] ~= nonce then return 'lost' end
  if is_there(base, member, {record[8], record[9]}) or record[6] then return 'ready' end

  call('HDEL', key, 'owner', 'nonce', 'again', 'worker')
  call('HSET', key, 'state', 'waiting', 'kin', '1', 'on', on, 'ack', ack, 'deadline', deadline,
    'rest', nonce)
  -- That of an exhausted request counted none.
  if not record[5] then call('HSET', key, 'attempts', math.max(record[4] - 1, 0)) end
  call('HDEL', base .. 'held:' .. record[3], member)
  move_run(base, member, 'waiting')
  call('ZADD', base .. 'waits', whole(math.min(look_at, deadline)), member)
  return 'waiting'
end
