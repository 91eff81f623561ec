// Separates the words of a CALL into options and the procedure's arguments.
//
//   CALL [PRIORITY n] [DEADLINE µs] [ID key] [--] name argument…
//   CALL name argument… [PRIORITY n] [DEADLINE µs]      if the procedure takes a fixed number of arguments
//
// An argument is never interpreted as an option, because arguments follow the name, and options after the name begin
// where the fixed number of arguments ends. So a client may pass on its users' words unchanged.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "server/calls/catalog.hpp"

namespace tutti::server {

struct call_line {
    const procedure_entry* entry = nullptr;
    std::optional<int> priority;
    std::optional<std::chrono::microseconds> deadline;
    std::optional<std::string_view> id;  ///< never comes after the arguments
    std::span<const std::string_view> arguments;
};

/// Thrown if no procedure has the name that a client gave.
struct unknown_procedure_error {
    std::string_view name;
};

/// Throws if `given` is not a valid key for the option ID. @throws bad_argument
void require_key(std::string_view given);

/// Reads the words after CALL. `likely` is the procedure that the words most likely name, or null.
/// @throws bad_argument  if an option has no number, is given twice, or is forbidden by the procedure, or if the name
/// is missing
/// @throws unknown_procedure_error
[[nodiscard]] call_line read_call(std::span<const std::string_view> given, const catalog& procedures,
                                  const procedure_entry* likely);

}  // namespace tutti::server
