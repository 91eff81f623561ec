// What Redis runs. A record is a string: 16 hexadecimal digits of its version, 1 or 0 for whether it exists, its bytes.
// A record that nobody wrote is absent, which reads as an empty version.
#pragma once

namespace tutti::cluster::backend {

/// KEYS: held, then wanted. ARGV: how many are held, then their versions. Answers 0, or the values of those wanted.
inline constexpr const char* redis_get = R"lua(
local held = tonumber(ARGV[1])
for i = 1, held do
  if redis.call('GETRANGE', KEYS[i], 0, 15) ~= ARGV[i + 1] then return 0 end
end
local found = {}
for i = held + 1, #KEYS do found[i - held] = redis.call('GET', KEYS[i]) or '' end
return found
)lua";

/// KEYS: the counter of versions, those checked, then those written. ARGV: how many are checked, the channel, their
/// versions, then what is written: 1 or 0, and the bytes. Answers 0, or the version.
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
