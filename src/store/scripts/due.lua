-- due: waiting requests that are to be looked at now.
--
-- KEYS     PREFIX:{pNN}:waits, one in each partition
-- ARGV[1]  how many to answer at most
-- ARGV[2]  when to answer the same again unless it was claimed, ms from now
-- ARGV[3]  the same of those of which nothing was heard: they may wait for long, and be many
-- answers  '<target>:<request_id>', ack subject, why, ... with why one of
--            'end'   it is flagged for cancel, or its deadline has passed
--            'wake'  what it waits for is there
--            'look'  nothing was heard of what it waits for
--
-- Of each partition the earliest, a fair share of those that are answered: what is cancelled is told
-- at once however many are late. Entries of requests that do not wait any more are struck out.

local now = now_ms()
local most, again, look_again = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local answers, found = {}, 0

local function look(waits, base, member)
  local record = call('HMGET', base .. 'req:' .. member,
    'state', 'cancel', 'deadline', 'on', 'verdict', 'ack')
  if record[1] ~= 'waiting' then
    call('ZREM', waits, member)
    return
  end
  local deadline = tonumber(record[3])
  local why = goes_on(base, member, record[2], deadline, record[4], record[5], now)
  local next_look = now + (why and again or look_again)
  if deadline > now then next_look = math.min(next_look, deadline) end
  call('ZADD', waits, whole(next_look), member)
  found = found + 1
  answers[#answers + 1] = member
  answers[#answers + 1] = record[6]
  answers[#answers + 1] = why or 'look'
end

for i, waits in ipairs(KEYS) do
  local base = string.match(waits, '^.-}:')
  local share = math.ceil((most - found) / (#KEYS - i + 1))
  local members = call('ZRANGEBYSCORE', waits, '-inf', whole(now), 'LIMIT', 0, share)
  for _, member in ipairs(members) do look(waits, base, member) end
end
return answers
