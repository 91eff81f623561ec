// A report that a program with language-level blocks has written (TUTTI_REPORT), as it stands in its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// A code address in an object file.
struct place {
    std::string object;
    std::uint64_t offset = 0;
    std::string symbol;  ///< mangled, or empty
};

struct abort_count {
    std::string cause;
    bool partial = false;             ///< only a nested block ran again
    std::optional<std::size_t> with;  ///< the block that was in the way, by its number
    std::uint64_t times = 0;
};

/// Irrevocable or alone, for one reason at one place.
struct switch_count {
    std::string reason;
    std::uint64_t times = 0;
    std::uint64_t accesses = 0;            ///< before it, of all of them
    std::uint64_t timed = 0;               ///< how many were timed,
    std::uint64_t nanoseconds_before = 0;  ///< how long those ran until then,
    std::uint64_t nanoseconds_whole = 0;   ///< and altogether
    std::optional<place> where;            ///< the code behind the operation
    std::optional<place> callee;
};

struct block_figures {
    place at;  ///< where its begin returns to
    std::uint64_t executions = 0;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t only_one = 0;
    std::uint64_t nested = 0;
    std::uint64_t lost_nanoseconds = 0;
    std::vector<abort_count> aborts;
    std::vector<switch_count> switches;
};

struct report_figures {
    std::string program;
    std::string algorithm;
    std::uint64_t nanoseconds = 0;
    std::vector<block_figures> blocks;
};

/// Throws std::runtime_error with one line that names the file and says what is wrong with it.
report_figures read_report(const std::string& file);

}  // namespace tutti::tools
