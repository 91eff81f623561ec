// What a leader sends its followers, as one string of bytes behind a checksum: a piece of the log, or the description
// of a copy. A reader finds a torn or damaged one out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/store.hpp"

namespace tutti::server::journal {

/// Of what is sent, and asked for. Leader and follower must have the same.
inline constexpr std::uint64_t stream_version = 2;

struct piece {
    branch now{};              ///< that the leader writes
    std::uint64_t upto = 1;    ///< nothing before it is missing to whoever has the groups
    std::uint64_t behind = 0;  ///< bytes of records that follow these groups
    std::vector<branch> branches{};
    std::vector<group> groups{};
};

[[nodiscard]] std::string encode(const piece& p);
[[nodiscard]] std::string encode(const copied& c);
/// As a word of a command, and back. @throws bad_argument
[[nodiscard]] std::string text_of(const std::vector<branch>& all);
[[nodiscard]] std::vector<branch> branches_in(std::string_view text);
/// Puts a checksum before what is sent otherwise.
[[nodiscard]] std::string seal(std::string_view bytes);

/// @throws std::runtime_error  if it is none, or is not as it was sent
[[nodiscard]] std::string_view unseal(std::string_view bytes);
[[nodiscard]] piece decode_piece(std::string_view bytes);
[[nodiscard]] copied decode_copy(std::string_view bytes);

}  // namespace tutti::server::journal
