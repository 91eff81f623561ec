// One call as the log has it: what it takes to run it again, and to see that it did the same.
//
// A record is a line of fields of known length, numbers in little-endian order; records follow each other in a group,
// which is what is written to disk at once (store.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::server::journal {

/// One of several calls that ran as one transaction, or the only one.
struct part {
    std::string_view procedure;
    std::size_t arguments = 0;
};

/// Views into what it was read from.
struct record {
    std::uint64_t position = 0;  ///< in the order of all that are logged
    std::int64_t time = 0;       ///< of its begin, microseconds since 1970
    std::uint64_t seed = 0;
    int priority = 0;
    int protocol = 2;          ///< RESP2 or RESP3
    bool together = false;     ///< it was EXEC, also if only one call was queued
    std::uint64_t answer = 0;  ///< checksum of what it answered
    std::vector<part> parts;
    std::vector<std::string_view> arguments;  ///< of all parts, one after the other
};

/// A checksum for what is written and read again (FNV-1a, 64 bits): against mistakes and decay, not against intent.
[[nodiscard]] std::uint64_t checksum(std::string_view bytes) noexcept;

/// What is written for `r`; its position is a place to be filled in by `set_position`.
[[nodiscard]] std::string encode(const record& r);
void set_position(std::string& encoded, std::uint64_t position) noexcept;

/// Takes the first record off `group`. @throws std::runtime_error  if it is none
[[nodiscard]] record decode(std::string_view& group);

}  // namespace tutti::server::journal
