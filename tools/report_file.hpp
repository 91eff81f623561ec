// A report that a program has written (TUTTI_REPORT) or sent (`tutti stat`). The classes have the structure of the
// file, which src/api/report/report.hpp describes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

/// A code address in an object file.
struct code_address {
    std::string object;
    std::uint64_t offset = 0;
    std::string symbol;  ///< mangled, or empty
};

struct abort_count {
    std::string cause;
    bool partial = false;             ///< only a nested block was restarted
    bool ends = false;                ///< the execution ended with this roll-back
    std::optional<std::size_t> with;  ///< index of the conflicting block among those of its kind
    std::uint64_t times = 0;
};

/// The number of times that blocks became irrevocable or ran alone, for one reason at one place.
struct switch_count {
    std::string reason;
    std::uint64_t times = 0;
    std::uint64_t accesses = 0;            ///< total accesses before the switch
    std::uint64_t timed = 0;               ///< number of timed switches
    std::uint64_t nanoseconds_before = 0;  ///< total time before the timed switches
    std::uint64_t nanoseconds_whole = 0;   ///< total time of the blocks with timed switches
    std::optional<code_address> where;     ///< the address after the operation
    std::optional<code_address> callee;
    // Fields of a "library-call"; empty for other reasons.
    std::string function;
    std::string why;
    std::string instead;
};

/// The time that a block waited for another block that ran alone.
struct wait_report {
    std::optional<std::size_t> with;  ///< index of the other block, if known
    std::uint64_t nanoseconds = 0;
};

/// A block of the language.
struct block_report {
    code_address at;  ///< the return address of the call that begins the block
    std::uint64_t executions = 0;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t only_one = 0;
    std::uint64_t nested = 0;
    std::uint64_t lost_nanoseconds = 0;
    std::uint64_t alone_nanoseconds = 0;  ///< time that the block ran alone
    std::vector<wait_report> waits;
    std::vector<abort_count> aborts;
    std::vector<switch_count> switches;
};

/// A reason why hardware attempts of a block ended, and how often.
struct hardware_count {
    std::string reason;
    std::uint64_t times = 0;
};

/// A block of the library.
struct site_report {
    std::string name;  ///< may be empty
    std::string file;
    std::uint64_t line = 0;
    std::string function;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;  ///< includes executions that were left by exceptions
    std::uint64_t partial_rollbacks = 0;
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

/// The state of a context.
struct transaction_report {
    std::uint64_t context = 0;
    std::uint64_t thread = 0;  ///< the kernel's thread number; 0: no thread
    std::string state;
    std::uint64_t attempt = 0;
    std::optional<std::size_t> site;
    bool asked_to_abort = false;
    bool suspended = false;
    std::optional<std::uint64_t> waits_for;  ///< number of the other context
};

struct program_report {
    std::string program;
    std::uint64_t process = 0;
    std::string algorithm;
    std::string policy;
    std::uint64_t nanoseconds = 0;
    std::vector<site_report> sites;
    std::vector<block_report> blocks;              ///< empty if the program does not use the runtime of the language
    std::vector<transaction_report> transactions;  ///< only if the process was still running
};

/// Reads a report. Throws std::runtime_error with one line that names the file and the error.
program_report read_report(const std::string& file);

/// Parses a report. `source` is the name of its origin in error messages.
program_report parse_report(std::istream& from, const std::string& source);

}  // namespace tutti::tools
