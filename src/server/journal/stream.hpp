// The data that a leader sends its followers: a chunk of the log, or the description of a copy. Each chunk or
// description is a string of bytes that begins with a checksum, so a reader detects a torn or damaged string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/log_store.hpp"

namespace tutti::server::journal {

/// The version of the protocol between leaders and followers. Leader and follower must use the same version.
inline constexpr std::uint64_t stream_version = 2;

struct log_chunk {
    leader_epoch epoch{};      ///< the leader epoch that the leader writes
    std::uint64_t upto = 1;    ///< a follower that has the groups lacks nothing before this position
    std::uint64_t behind = 0;  ///< bytes of the leader's records after these groups
    std::vector<leader_epoch> epochs{};
    std::vector<group> groups{};
};

[[nodiscard]] std::string encode(const log_chunk& p);
[[nodiscard]] std::string encode(const initial_copy& c);
/// Converts leader epochs to one word of a command, and back. @throws bad_argument
[[nodiscard]] std::string text_of(const std::vector<leader_epoch>& all);
[[nodiscard]] std::vector<leader_epoch> leader_epochs_in(std::string_view text);
/// Returns a checksum followed by `bytes`.
[[nodiscard]] std::string seal(std::string_view bytes);

/// Returns the bytes after the checksum. @throws std::runtime_error  if there is no checksum, or if it does not match
[[nodiscard]] std::string_view unseal(std::string_view bytes);
[[nodiscard]] log_chunk decode_chunk(std::string_view bytes);
[[nodiscard]] initial_copy decode_copy(std::string_view bytes);

}  // namespace tutti::server::journal
