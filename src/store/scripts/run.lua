-- What the scripts share that touch the run of an agent. No KEYS, no ARGV, no effect of its own.
--
-- Beside the record of an agent's request (PREFIX:{pNN}:req:<member>) lie, each kept for longer than
-- the record:
--   PREFIX:{pNN}:run:<member>        hash: status, step, requests, revision, model, goal; pending while
--                                    a decision is accepted and not carried out; report once there is
--                                    one; reason where it was ended without one
--   PREFIX:{pNN}:ops:<member>        list: decision, result, decision, result, ...
--   PREFIX:{pNN}:runevents:<member>  list: 'ms kind payload' of each event, the first one has seq 1
-- Decisions, results, reports and payloads are opaque.

local IS_OVER = {completed = true, cancelled = true, budget_exhausted = true, failed = true}

-- Notes an event. `kept` in ms, false where the list is kept long enough already.
local function tell(base, member, kind, payload, kept)
  local events = base .. 'runevents:' .. member
  call('RPUSH', events, whole(now_ms()) .. ' ' .. kind .. ' ' .. payload)
  if kept then call('PEXPIRE', events, kept) end
end

-- Ends the run of a request that is over, unless it has ended or there is none.
local function end_run(base, member, status, kind, payload)
  local run = base .. 'run:' .. member
  local before = call('HGET', run, 'status')
  if not before or IS_OVER[before] then return end
  call('HSET', run, 'status', status)
  call('HINCRBY', run, 'revision', 1)
  tell(base, member, kind, payload, false)
end

-- Moves a run that has not ended between waiting and running; nothing where there is none.
local function move_run(base, member, status)
  local run = base .. 'run:' .. member
  local before = call('HGET', run, 'status')
  if before and not IS_OVER[before] then call('HSET', run, 'status', status) end
end
