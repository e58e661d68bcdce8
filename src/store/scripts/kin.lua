-- What the scripts share that deal with requests that ask others, wait for them, or were asked by
-- one. No KEYS, no ARGV, no effect of its own.
--
-- The record of such a request has, beside what claim.lua writes:
--   kin        '1'
--   lineage    where it comes from; JSON, opaque
--   wait       the step of the delegation whose end it has not been told
--   steps      the steps of those that are over, joined by commas
--   requests, tokens, cost, descendants   what it and its ended children spent, and what is granted
--              to children that run
--   verdict    what was decided about it; JSON, opaque
-- and while its state is 'waiting':
--   on         'children' or 'verdict'
--   ack        where its message is settled
--   deadline   until when it may take, ms since 1970
--   rest       the nonce of the claim that let go of it
-- Beside it lie, each kept for longer than the record:
--   PREFIX:{pNN}:wait:<target>:<request_id>    its last delegation: step, join, count, ended, sent;
--              per child, i from 0: c<i> the child (JSON, opaque), e<i> how it ended, and m<i> its
--              message until it is known to be published. Gone once the request is done
--   PREFIX:{pNN}:kids:<target>:<request_id>    '<step>.<index>' -> child, for every child ever
--   PREFIX:{pNN}:slices:<target>:<request_id>  '<step>.<index>' -> what was granted to a child that
--              has not been told of as ended: four numbers
--   PREFIX:{pNN}:waits                         '<target>:<request_id>' -> when to look at it, ms
--
-- What is spent or granted is four whole numbers: requests, tokens, cost, descendants.

local GOODS = {'requests', 'tokens', 'cost', 'descendants'}

-- Adds such numbers to a record, or takes them off it where the sign is '-'. The server adds: its
-- whole numbers are exact far beyond ours.
local function charge(key, numbers, sign)
  local at = 0
  for number in string.gmatch(numbers, '%d+') do
    at = at + 1
    if number ~= '0' then call('HINCRBY', key, GOODS[at], sign .. number) end
  end
end

-- What a record says of its request's kin: {lineage, wait, steps, verdict, requests, tokens, cost,
-- descendants}, each nil where it has none; false where `is_kin` is none.
local function kin_of(key, is_kin)
  if not is_kin then return false end
  return call('HMGET', key, 'lineage', 'wait', 'steps', 'verdict', unpack(GOODS))
end

-- Whether as many children have ended as are waited for.
local function is_over(base, member)
  local wait = call('HMGET', base .. 'wait:' .. member, 'join', 'ended')
  return tonumber(wait[2] or 0) >= tonumber(wait[1] or 0)
end

-- The children of its last delegation whose end is `ended`, or that have none where that is false.
local function children_that(base, member, ended)
  local wait, some = base .. 'wait:' .. member, {}
  for i = 0, tonumber(call('HGET', wait, 'count') or 0) - 1 do
    if call('HGET', wait, 'e' .. i) == ended then
      some[#some + 1] = call('HGET', wait, 'c' .. i)
    end
  end
  return some
end

-- Why a request whose state is 'waiting' is to go on: 'end' for a cancel or its deadline, 'wake'
-- for what it waits for; else false.
local function goes_on(base, member, cancel, deadline, on, verdict, now)
  if cancel or tonumber(deadline) <= now then return 'end' end
  if on == 'verdict' then return verdict and 'wake' end
  return is_over(base, member) and 'wake'
end
