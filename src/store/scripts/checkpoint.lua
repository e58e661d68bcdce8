-- checkpoint: change a run, unless it stands elsewhere than is believed.
--
-- KEYS[1]  PREFIX:{pNN}:req:<target>:<request_id>, the record
-- ARGV     the nonce of the claim, how long what lies beside the record is kept (ms), then one of
--            'reserve', steps, requests, then what the record may spend: requests, tokens, cost;
--                                 each '' where there is no limit
--            'accept', revision, decision, spent (four numbers)
--            'execute', revision, decision, result, '1' if it is a report else '0', report
--            'charge', spent (four numbers)
--            'end', status, why, which is the payload of its last event too (JSON, opaque)
-- answers  {'written', revision}  the revision that it has now
--          {'stale'}              it stands elsewhere, or there is none; nothing was changed
--          {'lost'}               the claim is not yours (any more), the record is flagged for
--                                 cancel, or the run is cancelled; nothing was changed
--          {'exhausted', limit, reached, most}  it has ended as budget_exhausted; limit one of
--                                 'steps', 'own_requests', 'requests', 'tokens', 'cost'
--
-- reserve: the model is about to be asked. requests and revision + 1, and one request is charged to
-- the record. Refused while a decision is pending. Asked again it is another request.
-- accept: the decision is pending, revision + 1. Only at the revision that is named.
-- execute: the pending decision was carried out; it and its result are appended, step and
-- revision + 1. Only at the revision that is named. With a report the run is completed.
-- charge: something was spent, and nothing else changes; also on a run that is flagged for cancel.
-- end: it ends without a report; its revision stays.
-- What is charged counts on the record, together with what its request's children spend.

local key = KEYS[1]
local base, member = parts(key)
local run_key = base .. 'run:' .. member
local nonce, kept, action = ARGV[1], ARGV[2], ARGV[3]
local record = call('HMGET', key, 'state', 'nonce', 'cancel', unpack(GOODS))
local run = call('HMGET', run_key, 'status', 'step', 'requests', 'revision', 'pending')
local status, revision, pending = run[1], run[4], run[5]

local function stop(limit, reached, most)
  call('HSET', run_key, 'status', 'budget_exhausted')
  tell(base, member, 'stopped', '{"reason":"budget","limit":"' .. limit .. '"}', kept)
  return {'exhausted', limit, reached, most}
end

local function written()
  call('PEXPIRE', run_key, kept)
  return {'written', call('HINCRBY', run_key, 'revision', 1)}
end

-- The limit that the next request would break: its name, how far it is used, how far it may be.
local function broken(steps, requests, tree_requests, tree_tokens, tree_cost)
  local function at(limit) return tonumber(limit) or math.huge end
  local spent, tokens, cost = tonumber(record[4] or 0), tonumber(record[5] or 0),
    tonumber(record[6] or 0)
  if tonumber(run[2]) >= at(steps) then return 'steps', run[2], steps end
  if tonumber(run[3]) >= at(requests) then return 'own_requests', run[3], requests end
  if spent >= at(tree_requests) then return 'requests', whole(spent + 1), tree_requests end
  if tokens >= at(tree_tokens) then return 'tokens', record[5] or '0', tree_tokens end
  -- A model without a price may be asked by who has no money.
  if cost > 0 and cost >= at(tree_cost) then return 'cost', record[6], tree_cost end
end

local actions = {}

function actions.reserve(...)
  if pending then return {'stale'} end
  local limit, reached, most = broken(...)
  if limit then return stop(limit, reached, most) end
  call('HSET', run_key, 'status', 'running')
  call('HINCRBY', run_key, 'requests', 1)
  call('HINCRBY', key, 'requests', 1)
  return written()
end

function actions.accept(at, decision, spent)
  if pending or status ~= 'running' or revision ~= at then return {'stale'} end
  call('HSET', run_key, 'pending', decision)
  charge(key, spent, '')
  tell(base, member, 'decision.accepted', decision, kept)
  return written()
end

function actions.execute(at, decision, result, is_report, report)
  if not pending or status == 'queued' or revision ~= at then return {'stale'} end
  local ops = base .. 'ops:' .. member
  call('RPUSH', ops, decision, result)
  call('PEXPIRE', ops, kept)
  call('HDEL', run_key, 'pending')
  call('HINCRBY', run_key, 'step', 1)
  if is_report == '1' then
    call('HSET', run_key, 'status', 'completed', 'report', report)
  else
    call('HSET', run_key, 'status', 'running')
  end
  local payload = '{"step":' .. run[2] .. ',"result":' .. result .. '}'
  tell(base, member, 'operation.completed', payload, kept)
  return written()
end

-- `end` is a word of the language.
actions['end'] = function(how, payload)
  call('HSET', run_key, 'status', how, 'reason', payload)
  tell(base, member, 'stopped', payload, kept)
  return {'written', tonumber(revision)}
end

if record[1] ~= 'held' or record[2] ~= nonce then return {'lost'} end
if not status then return {'stale'} end
if action == 'charge' then
  call('HSET', key, 'kin', '1')
  charge(key, ARGV[4], '')
  return {'written', tonumber(revision)}
end
if record[3] or status == 'cancelled' then return {'lost'} end
if IS_OVER[status] then return {'stale'} end
call('HSET', key, 'kin', '1')
return actions[action](unpack(ARGV, 4))
