// The words that may precede the procedure's name in a call. No procedure may have one of these names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tutti::server {

/// Returns true if the words are equal regardless of case, because commands and options may be in any case.
[[nodiscard]] inline bool equals_ignoring_case(std::string_view given, std::string_view capitals) noexcept {
    return std::ranges::equal(given, capitals, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
}

inline constexpr std::string_view word_priority = "PRIORITY";
inline constexpr std::string_view word_deadline = "DEADLINE";
inline constexpr std::string_view word_id = "ID";
inline constexpr std::string_view word_end_of_options = "--";

[[nodiscard]] inline bool is_call_option(std::string_view name) noexcept {
    return std::ranges::any_of(std::array{word_priority, word_deadline, word_id, word_end_of_options},
                               [name](std::string_view option) { return equals_ignoring_case(name, option); });
}

}  // namespace tutti::server
