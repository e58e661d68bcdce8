-- What the scripts of a circuit begin with, after the prelude: where it stands, and how time and
-- results move it. The rules are those of src/circuit, which count alike.
--
-- KEYS[1]  PREFIX:{pNN}:circuit:<name>, a hash: state (closed where there is none), gen, until (of
--          an open one), ok and bad (of a half-open one), percent that had failed when it opened,
--          hold (until when the server wants to be left alone), failed_at (the last time), rl ra
--          tl ta (level and time of the buckets of requests and of tokens)
-- ARGV     the rules, 1 to 7: window ms, finished at least, failed percent, open for ms, probes,
--          majority, lease of a probe ms
--
-- Beside it, in the same slot: window:<name>, 20 steps 'number finished failed'; probes:<name>, the
-- probes that are out, by the end of their lease; pass:<name>:<pass>, what an attempt that is out
-- took; told:<name>:<pass>, that its end was told. All of them expire.

local base, name = parts(KEYS[1])
local window_key, probes_key = base .. 'window:' .. name, base .. 'probes:' .. name
local now = now_ms()
local window, finished_min, failed_percent, open_for, probes_max, majority, lease =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]),
  tonumber(ARGV[6]), tonumber(ARGV[7])

-- While all probes are out one of them may decide at any time.
local PROBES_DECIDE_WITHIN = 1000
-- Longer than any wish of a server and any attempt may take.
local kept = 3600000 + lease
local STEPS = 20

local stored = call('HMGET', KEYS[1],
  'state', 'gen', 'until', 'ok', 'bad', 'percent', 'hold', 'failed_at')
local state, generation = stored[1] or 'closed', tonumber(stored[2]) or 0
local ends = tonumber(stored[3]) or 0
local succeeded, failed = tonumber(stored[4]) or 0, tonumber(stored[5]) or 0
local percent, hold = tonumber(stored[6]) or 0, tonumber(stored[7]) or 0
local failed_at = tonumber(stored[8]) or 0

local function pass_key(pass)
  return base .. 'pass:' .. name .. ':' .. pass
end

local function set(...)
  call('HSET', KEYS[1], ...)
  call('PEXPIRE', KEYS[1], whole(kept))
end

-- The time makes a generation that no other life of the circuit had, even if the key expired.
local function enter(new, until_when)
  state, generation = new, math.max(now, generation + 1)
  ends, succeeded, failed = until_when, 0, 0
  call('DEL', window_key, probes_key)
  set('state', state, 'gen', whole(generation), 'until', whole(ends), 'ok', '0', 'bad', '0',
    'percent', whole(percent))
end

local function open(of_failed, of_finished)
  percent = math.floor(of_failed * 100 / of_finished)
  enter('open', now + open_for)
end

local function decide_half_open()
  if succeeded >= majority then
    enter('closed', 0)
  elseif failed >= majority then
    open(failed, failed + succeeded)
  end
end

-- A probe that ended, or did not within its lease.
local function probes_ended(well, ill)
  succeeded, failed = succeeded + well, failed + ill
  set('ok', whole(succeeded), 'bad', whole(failed))
  decide_half_open()
end

-- What happens by itself.
local function pass_time()
  if state == 'open' and ends <= now then
    enter('half_open', 0)
  elseif state == 'half_open' then
    local expired = call('ZREMRANGEBYSCORE', probes_key, '-inf', whole(now))
    if expired > 0 then probes_ended(0, expired) end
  end
end

-- What a place of the window counts, unless that is older than the oldest step.
local function counted(text, oldest)
  local step, finished, ill = string.match(text or '', '(%d+) (%d+) (%d+)')
  if not step or tonumber(step) < oldest then return 0, 0 end
  return tonumber(finished), tonumber(ill)
end

-- Counts the end of an attempt while closed, and opens where too many of the window failed.
local function count(ill)
  local step = math.floor(now * STEPS / window)
  local place = whole(step % STEPS)
  local of_step, ill_of_step = counted(call('HGET', window_key, place), step)
  call('HSET', window_key, place,
    whole(step) .. ' ' .. whole(of_step + 1) .. ' ' .. whole(ill_of_step + ill))
  call('PEXPIRE', window_key, whole(window * 2))
  if ill == 1 then
    failed_at = now
    set('failed_at', whole(now))
  end
  -- While nothing fails there is nothing to add up.
  if now - failed_at > window then return end
  local seen, seen_ill = 0, 0
  for _, text in ipairs(call('HVALS', window_key)) do
    local of_this, ill_of_this = counted(text, step - STEPS + 1)
    seen, seen_ill = seen + of_this, seen_ill + ill_of_this
  end
  if seen >= finished_min and seen_ill * 100 > seen * failed_percent then open(seen_ill, seen) end
end

-- {'refused', state, ms until it is worth asking again, percent} where none is let through.
local function refusal()
  if state == 'open' then return {'refused', state, ends - now, percent} end
  if state ~= 'half_open' then return nil end
  local out = call('ZCARD', probes_key)
  if out == 0 or out + succeeded + failed < probes_max then return nil end
  local first = call('ZRANGE', probes_key, '0', '0', 'WITHSCORES')
  local left = math.min(tonumber(first[2]) - now, PROBES_DECIDE_WITHIN)
  return {'refused', state, left, percent}
end

-- {'throttled', why, ms} while the server wants to be left alone.
local function held()
  if hold > now then return {'throttled', 'retry_after', hold - now} end
end

local function admitted()
  return {'admitted', state, whole(generation)}
end
