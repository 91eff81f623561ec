// One call as the log has it: what it takes to run it again, and to see that it did the same.
//
// A record is a line of fields of known length, numbers in little-endian order; records follow each other in a group,
// which is what is written to disk at once (store.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/journal/checksum.hpp"

namespace tutti::server::journal {

/// One of several calls that ran as one transaction, or the only one.
struct part {
    std::string_view procedure;
    std::size_t arguments = 0;
};

/// What a record says of the call as a whole.
struct circumstances {
    std::uint64_t position = 0;  ///< in the order of all that are logged
    std::int64_t time = 0;       ///< of its begin, microseconds since 1970
    std::uint64_t seed = 0;
    std::uint64_t answer = 0;  ///< checksum of what it answered
    checksum_kind answer_by = checksum_kind::xxh3;
    int priority = 0;
    int protocol = 2;       ///< RESP2 or RESP3
    bool together = false;  ///< it was EXEC, also if only one call was queued
};

/// Views into what it was read from.
struct record : circumstances {
    std::vector<part> parts{};
    std::vector<std::string_view> arguments{};  ///< of all parts, one after the other
};

/// Bytes that `encode` writes.
[[nodiscard]] std::size_t encoded_size(std::span<const part> parts,
                                       std::span<const std::string_view> arguments) noexcept;
void encode(const circumstances& of, std::span<const part> parts, std::span<const std::string_view> arguments,
            char* to) noexcept;

/// Takes the first record off `group`. @throws std::runtime_error  if it is none
[[nodiscard]] record decode(std::string_view& group);

}  // namespace tutti::server::journal
