-- What every script begins with. No KEYS, no ARGV, no effect.
--
-- A key is PREFIX:{pNN}:<kind>:<rest>. Everything that one request touches lies in the partition of
-- its record, so that a script may name the other keys itself: they share the record's hash tag.
-- The server does nothing else while a batch runs, so each command and each new text counts.

local call = redis.call

-- 'PREFIX:{pNN}:' and '<rest>' of a key.
local function parts(key)
  local tag = string.find(key, '}:', 1, true)
  local kind = string.find(key, ':', tag + 2, true)
  return string.sub(key, 1, tag + 1), string.sub(key, kind + 1)
end

-- Where the result bytes of a record are, apart from it: a hash that once held a long value keeps
-- the large encoding for good.
local function result_of(base, member)
  return base .. 'result:' .. member
end

-- The server's clock, ms since 1970. Times stay below 2^53, where a number is exact.
local function now_ms()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- However far a deadline is: an expiry beyond it would overflow.
local KEPT_MAX_MS = 1e13

-- A whole number as text; tostring would write a large one with an exponent.
local function whole(number)
  return string.format('%.0f', number)
end

-- The worker of a session that lives, else false; asked once a call.
local known = {}
local function lives(base, session)
  local key = base .. 'session:' .. session
  if known[key] == nil then known[key] = call('GET', key) end
  return known[key]
end
