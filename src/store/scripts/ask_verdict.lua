-- ask_verdict: give up a claim whose request waits for a verdict, without counting its attempt.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     the nonce of the claim, where the message is settled, the deadline and when to look at it
--          if nobody has decided; both ms since 1970
-- answers  'waiting'  nobody owns it, by this call or by an earlier one with this nonce
--          'ready'    there is a verdict, or it is flagged for cancel: the claim stands
--          'lost'     the claim is not yours (any more)
--
-- Idempotent.

local function is_there(_, _, record)
  return record[2]
end

return rest(KEYS[1], 'verdict', ARGV[1], ARGV[2], ARGV[3], ARGV[4], is_there)
