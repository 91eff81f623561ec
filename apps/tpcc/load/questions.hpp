// One request, and the wait for its answer: for what is not measured.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc/load/calls.hpp"
#include "tpcc/load/connection.hpp"

namespace tpcc::load {

struct address {
    std::string host = "127.0.0.1";
    std::string port = "7411";
    [[nodiscard]] std::string text() const { return host + ":" + port; }
};

/// The server has answered with an error; what() is its text, the code first.
class refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @throws refused
/// @throws std::runtime_error  when the server cannot be reached, goes away, or has said nothing for a minute
[[nodiscard]] answer ask(const address& whom, std::initializer_list<std::string_view> words);
[[nodiscard]] answer ask(const address& whom, const std::vector<std::string>& words);

/// What a procedure answers with a list of so many numbers. @throws std::runtime_error  it does not
[[nodiscard]] std::vector<long> ask_numbers(const address& whom, std::initializer_list<std::string_view> words,
                                            std::size_t how_many);

/// The answer of the procedure `scale`.
[[nodiscard]] served_scale ask_scale(const address& whom);

}  // namespace tpcc::load
