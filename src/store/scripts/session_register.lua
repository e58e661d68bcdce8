-- session_register: write a session down where the whole data set is described: partition p00.
--
-- KEYS     PREFIX:{p00}:epoch, PREFIX:{p00}:partitions, PREFIX:{p00}:sessions (session -> worker),
--          PREFIX:{p00}:targets (names that were ever served), PREFIX:{p00}:serving (session ->
--          the names that it serves, joined by commas)
-- ARGV     the epoch of a data set that has none, the number of partitions, session, worker, then
--          the targets that it serves
-- answers  {'epoch', epoch}, or {'partitions', number} where the data set has another number of
--          them; nothing was written then
--
-- Idempotent: epoch and partitions are written once in the life of a data set.

call('SETNX', KEYS[2], ARGV[2])
local partitions = call('GET', KEYS[2])
if partitions ~= ARGV[2] then return {'partitions', partitions} end
call('SETNX', KEYS[1], ARGV[1])
call('HSET', KEYS[3], ARGV[3], ARGV[4])
call('HSET', KEYS[5], ARGV[3], table.concat(ARGV, ',', 5))
for i = 5, #ARGV do
  call('SADD', KEYS[4], ARGV[i])
end
return {'epoch', call('GET', KEYS[1])}
