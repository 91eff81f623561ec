// The places that programs use, and the numbers that represent their content.
#pragma once

#include <cstddef>
#include <string>

namespace crossings {

inline constexpr int words = 4, texts = 2, shares = 2, plain_words = 4, objects = 3, values = 2, keys = 5, sums = 2;
inline constexpr int kinds_of_object = 15;
inline constexpr int kind_that_restarts = 14;  ///< its destructor runs a block that starts over once
inline constexpr std::size_t ring_capacity = 3;
inline constexpr long nothing = -1;  ///< the value of an empty place

/// Returns which of `of` places a step means.
inline std::size_t place(int number, int of) { return static_cast<std::size_t>(number % of); }

inline std::string text_of(long number) {
    return "a text that does not fit into the string itself: " + std::to_string(number);
}
inline long number_of(const std::string& text) { return std::stol(text.substr(text.rfind(' ') + 1)); }

}  // namespace crossings
