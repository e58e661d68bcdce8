-- circuit_report: how an attempt at a model server ended.
--
-- KEYS[1]  PREFIX:{pNN}:circuit:<name>
-- ARGV     the rules (see circuit), then 8 the pass; 9 the generation in which it was let through,
--          empty where nobody was asked; 10 'success', 'failure' or 'neutral'; 11 ms that the server
--          wants to be left alone, 0 for none; 12 tokens that it cost, 'unsent' or 'unknown'
-- answers  where the circuit stands now, as circuit_admit answers one that asks
--
-- What ends in another life of the circuit than it began in moves nothing. What was taken and not
-- spent is given back, what was spent beyond is owed: a level may be below zero.
-- Idempotent within a window: a pass whose end was told once is not counted again.

local UNITS = 60000
-- The most that is ever charged at once, so that every level stays exact.
local CHARGED_MAX = 1000000000
local pass, told = pass_key(ARGV[8]), base .. 'told:' .. name .. ':' .. ARGV[8]

local function settle(taken, spent)
  local generation_then, requests, tokens = string.match(taken, '(%d+) (%d+) (%d+)')
  call('DEL', pass)
  if spent == 'unsent' and requests == '1' then call('HINCRBY', KEYS[1], 'rl', whole(UNITS)) end
  if spent == 'unknown' or tokens == '0' then return end
  local cost = math.min(tonumber(spent) or 0, CHARGED_MAX)
  call('HINCRBY', KEYS[1], 'tl', whole((tonumber(tokens) - cost) * UNITS))
end

local function ended()
  if call('ZREM', probes_key, ARGV[8]) == 1 then
    if ARGV[10] == 'success' then probes_ended(1, 0) end
    if ARGV[10] == 'failure' then probes_ended(0, 1) end
  elseif state == 'closed' and ARGV[9] == whole(generation) then
    if ARGV[10] == 'success' then count(0) end
    if ARGV[10] == 'failure' then count(1) end
  end
end

pass_time()
if call('SET', told, '1', 'NX', 'PX', whole(window)) then
  local taken = call('GET', pass)
  if taken then settle(taken, ARGV[12]) end
  local wish = tonumber(ARGV[11])
  if wish > 0 and now + wish > hold then
    hold = now + wish
    set('hold', whole(hold))
  end
  ended()
end
return refusal() or held() or admitted()
