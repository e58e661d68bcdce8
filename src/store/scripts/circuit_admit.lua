-- circuit_admit: leave for one attempt at a model server, from its circuit and its limits.
--
-- KEYS[1]  PREFIX:{pNN}:circuit:<name>
-- ARGV     the rules (see circuit), then 8 the pass, a name for this attempt; 9 requests at once at
--          most (0: not limited), 10 requests that come in a minute, 11 and 12 the same of tokens,
--          13 tokens that this attempt takes, not more than 11
-- answers  {'admitted', state, generation}  the attempt may be made; half_open: it is a probe
--          {'refused', state, ms, percent}  the circuit is open, or all its probes are out
--          {'throttled', why, ms}  later: why is retry_after, requests or tokens
--
-- Takes from every limit or from none. Levels count in 60000ths, what a rate of one a minute adds
-- in a millisecond.
-- Idempotent: a pass that is out is answered alike and takes nothing more.

local UNITS = 60000
local pass = pass_key(ARGV[8])

pass_time()
local out = call('GET', pass)
if out and string.match(out, '^%d+') == whole(generation) then return admitted() end
local turned_away = refusal() or held()
if turned_away then return turned_away end

-- The level now and how many ms are missing.
local function look(level_field, time_field, burst, rate, amount)
  if burst == 0 then return 0, 0 end
  local bucket = call('HMGET', KEYS[1], level_field, time_field)
  local level = burst * UNITS
  if bucket[1] and bucket[2] then
    local came = math.max(now - tonumber(bucket[2]), 0) * rate
    level = math.min(level, tonumber(bucket[1]) + came)
  end
  return level, math.ceil(math.max(amount * UNITS - level, 0) / rate)
end

local requests, tokens = tonumber(ARGV[9]), tonumber(ARGV[11])
local request = requests > 0 and 1 or 0
local wanted = tokens > 0 and tonumber(ARGV[13]) or 0
local requests_level, requests_wait = look('rl', 'ra', requests, tonumber(ARGV[10]), request)
local tokens_level, tokens_wait = look('tl', 'ta', tokens, tonumber(ARGV[12]), wanted)
if requests_wait > 0 and requests_wait >= tokens_wait then
  return {'throttled', 'requests', requests_wait}
end
if tokens_wait > 0 then return {'throttled', 'tokens', tokens_wait} end

if requests > 0 then set('rl', whole(requests_level - UNITS), 'ra', whole(now)) end
if tokens > 0 then set('tl', whole(tokens_level - wanted * UNITS), 'ta', whole(now)) end
if state == 'half_open' then
  call('ZADD', probes_key, whole(now + lease), ARGV[8])
  call('PEXPIRE', probes_key, whole(kept))
end
if state == 'half_open' or request + wanted > 0 then
  local taken = whole(generation) .. ' ' .. request .. ' ' .. whole(wanted)
  call('SET', pass, taken, 'PX', whole(lease + 60000))
end
return admitted()
