#pragma once

#include <variant>

#include "cli/program.hpp"
#include "cluster/plan.hpp"

namespace bench::cluster {

/// @throws cli::command_line_error
[[nodiscard]] std::variant<plan, cli::help_text> parse(int argc, const char* const* argv);

}  // namespace bench::cluster
