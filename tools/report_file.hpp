// A report that a program has written (TUTTI_REPORT) or given (`tutti stat`), as it stands: src/api/report.hpp.
#pragma once

#include <cstdint>
#include <iosfwd>
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
    bool ends = false;                ///< the execution was over with it
    std::optional<std::size_t> with;  ///< the block that was in the way, by its number among those of its kind
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
    // Of a "library-call", otherwise empty.
    std::string function;
    std::string why;
    std::string instead;
};

/// Time that a block waited for another, which ran alone.
struct wait_figures {
    std::optional<std::size_t> with;  ///< its number, where it is known
    std::uint64_t nanoseconds = 0;
};

/// A block of the language.
struct block_figures {
    place at;  ///< where its begin returns to
    std::uint64_t executions = 0;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t only_one = 0;
    std::uint64_t nested = 0;
    std::uint64_t lost_nanoseconds = 0;
    std::uint64_t alone_nanoseconds = 0;  ///< that it ran with no other beside it
    std::vector<wait_figures> waits;
    std::vector<abort_count> aborts;
    std::vector<switch_count> switches;
};

/// Why hardware attempts of a block ended.
struct hardware_count {
    std::string reason;
    std::uint64_t times = 0;
};

/// A block of the library.
struct site_figures {
    std::string name;  ///< or empty
    std::string file;
    std::uint64_t line = 0;
    std::string function;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;  ///< and left by exceptions
    std::uint64_t rewinds = 0;
    std::uint64_t lost_nanoseconds = 0;
    std::uint64_t irrevocable = 0;
    std::string irrevocable_reason;
    std::uint64_t p50_nanoseconds = 0;  ///< 0: no attempt was timed
    std::uint64_t p99_nanoseconds = 0;
    std::uint64_t deadlines_met = 0;
    std::uint64_t deadlines_missed = 0;
    std::uint64_t deadlines_refused = 0;
    std::uint64_t hardware_commits = 0;
    std::vector<hardware_count> hardware_aborts;
    std::vector<abort_count> aborts;
};

/// What a context was doing.
struct transaction_figures {
    std::uint64_t context = 0;
    std::uint64_t thread = 0;  ///< the kernel's number; 0: it belongs to none
    std::string state;
    std::uint64_t attempt = 0;
    std::optional<std::size_t> site;
    bool asked_to_die = false;
    bool suspended = false;
    std::optional<std::uint64_t> waits_for;  ///< the context
};

struct report_figures {
    std::string program;
    std::uint64_t process = 0;
    std::string algorithm;
    std::string policy;
    std::uint64_t nanoseconds = 0;
    std::vector<site_figures> sites;
    std::vector<block_figures> blocks;              ///< empty without the runtime of the language
    std::vector<transaction_figures> transactions;  ///< of a process that still ran
};

/// Throws std::runtime_error with one line that names the file and says what is wrong with it.
report_figures read_report(const std::string& file);

/// The same for what has been read from `source`, which the line names.
report_figures parse_report(std::istream& from, const std::string& source);

}  // namespace tutti::tools
