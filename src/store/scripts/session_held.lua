-- session_held: some of the claims that a session has and that are not done. Changes nothing.
--
-- KEYS     PREFIX:{pNN}:session:<session>, one in each partition
-- ARGV[1]  how many entries to look at in each partition, at most: others the next time, by chance
-- answers  '<target>:<request_id>', nonce, ...

local answers = {}
for _, key in ipairs(KEYS) do
  local base, session = parts(key)
  for _, member in ipairs(call('HRANDFIELD', base .. 'held:' .. session, ARGV[1])) do
    local record = call('HMGET', base .. 'req:' .. member, 'state', 'owner', 'nonce')
    if record[1] == 'held' and record[2] == session then
      answers[#answers + 1] = member
      answers[#answers + 1] = record[3]
    end
  end
end
return answers
