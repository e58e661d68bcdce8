-- wait_read: what a request waits for, or waited for last. Changes nothing.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     none
-- answers  nil where it never asked anybody or is done, else
--          {step, join, sent, child, end, child, end, ...} with sent 0 or 1, the children in the
--          order of their indices, and nil for the end of one that has none

local base, member = parts(KEYS[1])
local wait = base .. 'wait:' .. member
local about = call('HMGET', wait, 'step', 'join', 'sent', 'count')
if not about[1] then return false end
local answer = {about[1], about[2], about[3] and 1 or 0}
for i = 0, about[4] - 1 do
  local child = call('HMGET', wait, 'c' .. i, 'e' .. i)
  answer[#answer + 1] = child[1]
  answer[#answer + 1] = child[2]
end
return answer
