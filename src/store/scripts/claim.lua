-- claim: become the owner of requests, or learn why not.
--
-- KEYS     PREFIX:{pNN}:req:<target>:<request_id>, the record of each request
-- ARGV[1]  how long a record is kept after its request's deadline, ms
-- ARGV[2]  how often a request is executed at most
-- ARGV     then per key: session, nonce, fp, corr, ack subject, deadline (ms since 1970)
-- answers  per key, in their order, one of
--            now                      it is yours and its record is new: the first attempt, first
--                                     claimed now, not flagged for cancel
--            {'claimed', attempts, t0, now, cancelled, fresh, carried, kin}  it is yours; cancelled
--                                     and fresh 0 or 1; carried what its last release left, or '';
--                                     kin as kin.lua's kin_of answers it, nil where it has none
--            {'exhausted', attempts, t0, now, cancelled, last, kin}  it is yours, but executed so
--                                     often that it must not run again; last names who had it then
--            {'held', session}        a live session owns it
--            {'waiting'}              it waits, and nobody is to have it yet; this delivery, if the
--                                     broker made it, is the one to settle from now on
--            {'done', corr, attempts, result, kin}  result nil once the record is a tombstone
--            {'conflict', corr}       the same id came with another fp
--            {'fenced'}               your own session is gone
--
-- Taken is what has no record, was given back, or whose owner's session is gone: attempts + 1, the
-- new nonce, and the entry in the owner's held set moves. A record that is only flagged for cancel
-- takes the first fp that comes. What is exhausted is taken alike, but no attempt is counted. What a
-- parent intended is taken as if it had no record. What waits is taken, as if it was given back, once
-- what it waits for is there, it is flagged for cancel, or its deadline has passed.
-- Idempotent: the nonce that owns the record is answered as before, and no attempt is counted.

local now = now_ms()
local now_text = whole(now)
local retention = tonumber(ARGV[1])
local most = tonumber(ARGV[2])

-- In whole seconds, because a batch then has but a few texts to make.
local texts = {}
local function keep(key, deadline)
  local left = math.max(deadline - now, 0)
  local at = math.ceil((now + math.min(left + retention, KEPT_MAX_MS)) / 1000)
  texts[at] = texts[at] or whole(at)
  call('EXPIREAT', key, texts[at])
end

local function answer(attempts, t0, cancel, again, last, carried, kin)
  local flag = cancel and 1 or 0
  if last then return {'exhausted', tonumber(attempts), tonumber(t0), now, flag, last, kin} end
  local fresh = again and 0 or 1
  return {'claimed', tonumber(attempts), tonumber(t0), now, flag, fresh, carried or '', kin}
end

-- Claims what nobody had before.
local function claim_new(key, base, member, session, nonce, fp, corr, ack, deadline)
  call('HSET', key, 'state', 'held', 'owner', session, 'nonce', nonce, 'fp', fp, 'corr', corr,
    'attempts', '1', 't0', now_text)
  keep(key, deadline)
  call('HSET', base .. 'held:' .. session, member, ack)
  return now
end

-- Claims what has a record already.
local function claim_again(key, base, member, session, nonce, fp, corr, ack, deadline)
  local record = call('HMGET', key,
    'state', 'owner', 'nonce', 'fp', 'corr', 'attempts', 't0', 'cancel', 'again', 'worker', 'last',
    'carried', 'kin', 'on', 'verdict')
  local state, owner, attempts, t0, cancel = record[1], record[2], record[6], record[7], record[8]
  local last, carried, kin = record[11], record[12], record[13]

  if record[4] and record[4] ~= fp then return {'conflict', record[5]} end
  if state == 'done' then
    local result = call('GET', result_of(base, member))
    return {'done', record[5], tonumber(attempts), result, kin_of(key, kin)}
  end
  if state == 'intended' then
    claim_new(key, base, member, session, nonce, fp, corr, ack, deadline)
    return answer(1, now, false, false, false, false, kin_of(key, kin))
  end
  if state == 'waiting' then
    if not goes_on(base, member, cancel, deadline, record[14], record[15], now) then
      -- A message that was read and not delivered cannot be given back.
      if string.sub(ack, 1, 8) == '$JS.ACK.' then call('HSET', key, 'ack', ack) end
      return {'waiting'}
    end
    call('ZREM', base .. 'waits', member)
    call('HDEL', key, 'on', 'ack', 'deadline', 'rest')
  end
  if state == 'held' then
    if record[3] == nonce then
      return answer(attempts, t0, cancel, record[9], last, carried, kin_of(key, kin))
    end
    if lives(base, owner) then return {'held', owner} end
    last = last or record[10] or owner
    call('HDEL', base .. 'held:' .. owner, member)
    call('SREM', base .. 'cancelled:' .. owner, member)
  end

  attempts = tonumber(attempts or 0)
  if last and attempts >= most then
    call('HSET', key, 'last', last)
  else
    call('HDEL', key, 'last')
    attempts, last = attempts + 1, nil
  end
  t0 = t0 or now_text
  call('HSET', key, 'state', 'held', 'owner', session, 'nonce', nonce, 'fp', fp, 'corr', corr,
    'attempts', whole(attempts), 't0', t0, 'again', '1', 'worker', lives(base, session))
  keep(key, deadline)
  call('HSET', base .. 'held:' .. session, member, ack)
  if cancel then call('SADD', base .. 'cancelled:' .. session, member) end
  return answer(attempts, t0, cancel, true, last, carried, kin_of(key, kin))
end

local function claim(key, session, nonce, fp, corr, ack, deadline)
  local base, member = parts(key)
  if not lives(base, session) then return {'fenced'} end
  if call('EXISTS', key) == 1 then
    return claim_again(key, base, member, session, nonce, fp, corr, ack, deadline)
  end
  return claim_new(key, base, member, session, nonce, fp, corr, ack, deadline)
end

local answers = {}
for i = 1, #KEYS do
  local at = 3 + (i - 1) * 6
  answers[i] = claim(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4],
    ARGV[at + 5])
end
return answers
