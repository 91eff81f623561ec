// Reads numbers in the words of a request.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "tutti/server/codec.hpp"

namespace tutti::server {

/// Reads a number. @throws bad_argument  if `given` is not an integer in the range of N; `of` is the number's name in
/// the error message
template <class N>
N number(std::string_view of, std::string_view given) {
    N value{};
    const auto [last, failed] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (failed != std::errc{} || last != given.data() + given.size())
        throw bad_argument{std::string{of} + ": value is not an integer or out of range: '" +
                           std::string{given.substr(0, 64)} + "'"};
    return value;
}

}  // namespace tutti::server
