// One call as the log stores it: everything needed to run the call again, and to check that the second run had the same
// result.
//
// A record is a sequence of fields of known length, with numbers in little-endian order. Records follow each other in a
// group, which the journal writes to the disk at once (log_store.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/journal/checksum.hpp"

namespace tutti::server::journal {

/// One of several calls that ran as one transaction, or the only call.
struct recorded_call {
    std::string_view procedure;
    std::size_t arguments = 0;
};

/// The properties of the call as a whole.
struct call_circumstances {
    std::uint64_t position = 0;  ///< position among all logged calls
    std::int64_t time = 0;       ///< time at which the call began, in microseconds since 1970
    std::uint64_t seed = 0;
    std::uint64_t answer = 0;  ///< checksum of the call's answer
    checksum_kind answer_by = checksum_kind::xxh3;
    int priority = 0;
    int protocol = 2;      ///< RESP2 or RESP3
    bool is_exec = false;  ///< the call was EXEC, even if only one call was queued
};

/// A decoded record. Its views point into the bytes that it was decoded from.
struct record : call_circumstances {
    std::vector<recorded_call> calls{};
    std::vector<std::string_view> arguments{};  ///< arguments of all parts, in order
};

/// Returns the number of bytes that `encode` writes.
[[nodiscard]] std::size_t encoded_size(std::span<const recorded_call> parts,
                                       std::span<const std::string_view> arguments) noexcept;
void encode(const call_circumstances& of, std::span<const recorded_call> parts,
            std::span<const std::string_view> arguments, char* to) noexcept;

/// Removes the first record from `group` and returns it. @throws std::runtime_error  if `group` does not begin with a
/// record
[[nodiscard]] record decode(std::string_view& group);

}  // namespace tutti::server::journal
