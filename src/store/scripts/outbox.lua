-- outbox: the messages of the children of a request's last delegation. Changes nothing.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     none
-- answers  child, message, ... in the order of their indices; none once they are known to be
--          published

local base, member = parts(KEYS[1])
local wait = base .. 'wait:' .. member
local answer = {}
for i = 0, tonumber(call('HGET', wait, 'count') or 0) - 1 do
  local child = call('HMGET', wait, 'c' .. i, 'm' .. i)
  if not child[2] then break end
  answer[#answer + 1] = child[1]
  answer[#answer + 1] = child[2]
end
return answer
