-- intend: write down where a child comes from, before it is published.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the child's record
-- ARGV[1]  how long a record is kept after its request's deadline, ms
-- ARGV     fp, corr, deadline (ms since 1970), lineage (JSON, opaque)
-- answers  'expected'  it is written
--          'done'      the child has its result already
--          'conflict'  the record has another fp; nothing was changed
--
-- Without a record one is made in the state 'intended', which the first claim takes. A record that
-- is there keeps its state and its expiry; the first lineage stays.
-- Idempotent.

local key = KEYS[1]
local retention, fp, corr, deadline, lineage = unpack(ARGV)
local record = call('HMGET', key, 'state', 'fp')
if record[2] and record[2] ~= fp then return 'conflict' end
call('HSETNX', key, 'lineage', lineage)
call('HSET', key, 'kin', '1', 'fp', fp)
call('HSETNX', key, 'corr', corr)
if not record[1] then
  call('HSET', key, 'state', 'intended')
  local left = math.max(deadline - now_ms(), 0)
  call('PEXPIRE', key, whole(math.min(left + retention, KEPT_MAX_MS)))
end
return record[1] == 'done' and 'done' or 'expected'
