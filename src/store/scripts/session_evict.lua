-- session_evict: end a session that is dead, and learn what it held.
--
-- KEYS     PREFIX:{pNN}:session:<session>, one in each partition
-- ARGV[1]  about how many entries to answer at most from each partition
-- ARGV     then the '<target>:<request_id>' of entries whose messages were given back since the
--          last call: they are struck out
-- answers  '<target>:<request_id>', ack subject, ... of entries that are left; none once all are
--          struck out or were moved by a claim
--
-- A renewal that comes late finds no session and is refused: none is ever created anew.
-- Idempotent: until they are struck out the same entries are answered again.

local function add_some(answers, held, most)
  local cursor, found = '0', 0
  repeat
    local page = call('HSCAN', held, cursor, 'COUNT', most)
    cursor = page[1]
    for _, text in ipairs(page[2]) do answers[#answers + 1] = text end
    found = found + #page[2] / 2
  until cursor == '0' or found >= tonumber(most)
end

local answers = {}
for _, key in ipairs(KEYS) do
  local base, session = parts(key)
  local held = base .. 'held:' .. session
  call('DEL', key, base .. 'cancelled:' .. session, base .. 'answers:' .. session)
  if ARGV[2] then call('HDEL', held, unpack(ARGV, 2)) end
  add_some(answers, held, ARGV[1])
end
return answers
