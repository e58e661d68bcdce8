-- execution_list: an owner's executions, the latest first.
--
-- KEYS[1]  PREFIX:{pNN}:execs:<owner>
-- ARGV     how many at most, and behind which: when it was started in ms, its id; '' '' for none
-- answers  the executions (opaque)
--
-- Those that are kept no longer are struck off the list. Idempotent.

local base, owner = parts(KEYS[1])
local most = tonumber(ARGV[1])

-- Where the list goes on. One that has left it meanwhile is known by its time.
local from = 0
if ARGV[3] ~= '' then
  local rank = call('ZREVRANK', KEYS[1], ARGV[3])
  from = rank and rank + 1 or call('ZCOUNT', KEYS[1], '(' .. ARGV[2], '+inf')
end

local found, gone = {}, {}
while #found < most do
  local ids = call('ZREVRANGE', KEYS[1], from, from + most - 1)
  if #ids == 0 then break end
  for _, id in ipairs(ids) do
    local known = call('GET', base .. 'exec:' .. owner .. ':' .. id)
    if not known then
      gone[#gone + 1] = id
    elseif #found < most then
      found[#found + 1] = string.sub(known, string.find(known, ' ', 1, true) + 1)
    end
  end
  from = from + #ids
end
for _, id in ipairs(gone) do call('ZREM', KEYS[1], id) end
return found
