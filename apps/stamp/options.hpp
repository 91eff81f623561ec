// The command line of tutti-stamp.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tutti/mode.hpp>

#include "stamp/programs.hpp"

namespace stamp {

enum class build { sequential, library, language };
[[nodiscard]] std::string_view name_of(build b);

struct command {
    std::vector<const program*> programs;
    build which = build::library;
    unsigned threads = 1;
    std::optional<std::size_t> size;  ///< empty: the program's usual one, or its quick one
    bool quick = false;
    std::uint64_t seed = 1;
    tutti::mode mode = tutti::mode::optimistic;
    bool lengths = false;
    std::string algorithm;  ///< empty: the default one
    bool json = false;
};

/// Why the command line cannot be followed, in one line that says what to do instead.
class command_line_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Text to print instead of a run: the list of programs, --help or --version.
struct answer {
    std::string text;
};

/// @throws command_line_error
[[nodiscard]] std::variant<command, answer> parse_command_line(int argc, const char* const* argv);

}  // namespace stamp
