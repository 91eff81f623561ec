// The command line of tutti-stamp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tutti/mode.hpp>

#include "cli/program.hpp"
#include "stamp/programs.hpp"

namespace stamp {

enum class build { sequential, library, language };
[[nodiscard]] std::string_view name_of(build b);

struct command {
    std::vector<const program*> programs;
    build which = build::library;
    unsigned threads = 1;
    std::optional<std::size_t> size;  ///< without value: the program's usual or quick size
    bool quick = false;
    std::uint64_t seed = 1;
    tutti::mode mode = tutti::mode::optimistic;
    bool lengths = false;
    std::string algorithm;  ///< empty: the default
    bool json = false;
};

/// @throws cli::command_line_error
[[nodiscard]] std::variant<command, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace stamp
