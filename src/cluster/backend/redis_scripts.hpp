// The scripts that Redis runs. A record is a string: its version in 16 hexadecimal digits, then 1 if it exists or 0 if
// not, then its bytes. A record that was never written is absent, and its version reads as an empty string.
#pragma once

namespace tutti::cluster::backend {

/// KEYS: the held keys, then the wanted ones. ARGV: the number of held keys, then their versions. Returns 0, or the
/// values of the wanted keys.
inline constexpr const char* redis_get = R"lua(
local held = tonumber(ARGV[1])
for i = 1, held do
  if redis.call('GETRANGE', KEYS[i], 0, 15) ~= ARGV[i + 1] then return 0 end
end
local found = {}
for i = held + 1, #KEYS do found[i - held] = redis.call('GET', KEYS[i]) or '' end
return found
)lua";

/// KEYS: the counter of versions, the checked keys, then the written ones. ARGV: the number of checked keys, the
/// channel, the versions of the checked keys, then for each write: 1 or 0, and the bytes. Returns 0, or the version.
inline constexpr const char* redis_commit = R"lua(
local checked = tonumber(ARGV[1])
for i = 1, checked do
  if redis.call('GETRANGE', KEYS[i + 1], 0, 15) ~= ARGV[i + 2] then return 0 end
end
local version = redis.call('INCR', KEYS[1])
local digits = string.format('%016x', version)
for i = checked + 2, #KEYS do
  redis.call('SET', KEYS[i], digits .. ARGV[i + 1])
  redis.call('PUBLISH', ARGV[2], KEYS[i])
end
return version
)lua";

}  // namespace tutti::cluster::backend
