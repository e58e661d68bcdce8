-- claim: become the owner of requests, or learn why not.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV[1]  how long a record is kept after its request's deadline, ms
-- ARGV     then per key: session, nonce, fp, corr, ack subject, deadline (ms since 1970)
-- answers  per key, in their order, one of
--            {'claimed', attempts, t0, now, cancelled, fresh}  it is yours; the last two 0 or 1
--            {'held', session}        a live session owns it
--            {'done', corr, result}   nil once the record is a tombstone
--            {'conflict', corr}       the same id came with another fp
--            {'fenced'}               your own session is gone
--
-- Taken is what has no record, was given back, or whose owner's session is gone: attempts + 1, the
-- new nonce, and the entry in the owner's held set moves. A record that is only flagged for cancel
-- takes the first fp that comes.
-- Idempotent: the nonce that owns the record is answered as before, and no attempt is counted.

local KEPT_MAX_MS = 1e13

local function keep(key, deadline, retention, now)
  local left = math.max(deadline - now, 0)
  redis.call('PEXPIRE', key, whole(math.min(left + retention, KEPT_MAX_MS)))
end

local function answer(attempts, t0, now, cancel, fresh)
  return {'claimed', tonumber(attempts), tonumber(t0), now, cancel and 1 or 0, fresh == '1' and 1 or 0}
end

local function claim(key, session, nonce, fp, corr, ack, deadline, retention, now)
  local base, member = parts(key)
  if not lives(base, session) then return {'fenced'} end
  local record = redis.call('HMGET', key,
    'state', 'owner', 'nonce', 'fp', 'corr', 'attempts', 't0', 'cancel', 'fresh')
  local state, owner, attempts, t0, cancel = record[1], record[2], record[6], record[7], record[8]

  if record[4] and record[4] ~= fp then return {'conflict', record[5]} end
  if state == 'done' then return {'done', record[5], redis.call('HGET', key, 'result')} end
  if state == 'held' then
    if record[3] == nonce then return answer(attempts, t0, now, cancel, record[9]) end
    if lives(base, owner) then return {'held', owner} end
    redis.call('HDEL', base .. 'held:' .. owner, member)
    redis.call('SREM', base .. 'cancelled:' .. owner, member)
  end

  local fresh = state and '0' or '1'
  attempts = (attempts or 0) + 1
  t0 = t0 or whole(now)
  redis.call('HSET', key, 'state', 'held', 'owner', session, 'nonce', nonce, 'fp', fp, 'corr', corr,
    'attempts', attempts, 't0', t0, 'fresh', fresh)
  keep(key, deadline, retention, now)
  redis.call('HSET', base .. 'held:' .. session, member, ack)
  if cancel then redis.call('SADD', base .. 'cancelled:' .. session, member) end
  return answer(attempts, t0, now, cancel, fresh)
end

local now = now_ms()
local answers = {}
for i, key in ipairs(KEYS) do
  local at = 2 + (i - 1) * 6
  answers[i] = claim(key, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4],
    tonumber(ARGV[at + 5]), tonumber(ARGV[1]), now)
end
return answers
