-- let_go: give up a claim whose request waits for its children, without counting its attempt.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     the nonce of the claim, where the message is settled, the deadline and when to look at it
--          if nothing was heard of its children; both ms since 1970
-- answers  'waiting'  nobody owns it, by this call or by an earlier one with this nonce
--          'ready'    enough children have ended, there is nothing to wait for, or it is flagged for
--                     cancel: the claim stands
--          'lost'     the claim is not yours (any more)
--
-- The messages of the children are published: they are forgotten, also where the claim stands.
-- Idempotent.

local function is_there(base, member, record)
  local wait = base .. 'wait:' .. member
  local about = call('HMGET', wait, 'count', 'sent')
  if about[1] and not about[2] then
    call('HSET', wait, 'sent', '1')
    for i = 0, about[1] - 1 do call('HDEL', wait, 'm' .. i) end
  end
  return not record[1] or is_over(base, member)
end

return rest(KEYS[1], 'children', ARGV[1], ARGV[2], ARGV[3], ARGV[4], is_there)
