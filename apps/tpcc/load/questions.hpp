// Sends one request and waits for its reply. For requests that are not measured.
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

/// The server has replied with an error. what() is its text, which begins with the code.
class refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// @throws refused
/// @throws std::runtime_error  if the server cannot be reached, disconnects, or has not replied for a minute
[[nodiscard]] answer ask(const address& whom, std::initializer_list<std::string_view> words);
[[nodiscard]] answer ask(const address& whom, const std::vector<std::string>& words);

/// Returns the reply of a procedure, a list of that many numbers. @throws std::runtime_error  for another reply
[[nodiscard]] std::vector<long> ask_numbers(const address& whom, std::initializer_list<std::string_view> words,
                                            std::size_t how_many);

/// Returns the reply of the procedure `scale`.
[[nodiscard]] served_scale ask_scale(const address& whom);

}  // namespace tpcc::load
