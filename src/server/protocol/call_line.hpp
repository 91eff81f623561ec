// The words of a CALL: which of them are options, and which are the procedure's.
//
//   CALL [PRIORITY n] [DEADLINE µs] [ID key] [--] name argument…
//   CALL name argument… [PRIORITY n] [DEADLINE µs]      where the procedure takes a fixed number of arguments
//
// No argument is ever taken for an option: before the name there are none, and behind it options begin where a fixed
// number of them ends. So a client may hand on words of its users as they are.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "server/calls/catalog.hpp"

namespace tutti::server {

struct call_line {
    const entry* which = nullptr;
    std::optional<int> priority;
    std::optional<std::chrono::microseconds> deadline;
    std::optional<std::string_view> id;  ///< never behind the arguments
    std::span<const std::string_view> arguments;
};

/// No procedure has the name that a client gave.
struct unknown_procedure {
    std::string_view name;
};

/// @throws bad_argument  for what may not follow ID
void require_key(std::string_view given);

/// `given` is what follows CALL; `likely` is the procedure that it most likely names, or null.
/// @throws bad_argument  for an option without a number, given twice, or that the procedure forbids; where there is no
///                       name
/// @throws unknown_procedure
[[nodiscard]] call_line read_call(std::span<const std::string_view> given, const catalog& procedures,
                                  const entry* likely);

}  // namespace tutti::server
