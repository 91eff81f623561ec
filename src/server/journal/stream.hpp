// The data that a leader sends its followers: a piece of the log, or the description of a copy. Each is one string of
// bytes after a checksum, so a reader detects a torn or damaged string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/store.hpp"

namespace tutti::server::journal {

/// The version of what leaders send and followers ask for. Leader and follower must use the same version.
inline constexpr std::uint64_t stream_version = 2;

struct piece {
    branch now{};              ///< the branch that the leader writes
    std::uint64_t upto = 1;    ///< a follower that has the groups lacks nothing before this position
    std::uint64_t behind = 0;  ///< bytes of records that follow these groups
    std::vector<branch> branches{};
    std::vector<group> groups{};
};

[[nodiscard]] std::string encode(const piece& p);
[[nodiscard]] std::string encode(const copied& c);
/// Converts branches to a word of a command, and back. @throws bad_argument
[[nodiscard]] std::string text_of(const std::vector<branch>& all);
[[nodiscard]] std::vector<branch> branches_in(std::string_view text);
/// Returns `bytes` behind a checksum.
[[nodiscard]] std::string seal(std::string_view bytes);

/// Returns the bytes after the checksum. @throws std::runtime_error  if there is no checksum, or if it does not match
[[nodiscard]] std::string_view unseal(std::string_view bytes);
[[nodiscard]] piece decode_piece(std::string_view bytes);
[[nodiscard]] copied decode_copy(std::string_view bytes);

}  // namespace tutti::server::journal
