// A report prepared for display, with names instead of addresses, and sentences instead of codes. The text and the HTML
// page show the same content.
#pragma once

#include <string>
#include <vector>

#include "report_file.hpp"
#include "symbols.hpp"

namespace tutti::tools {

struct counted_line {
    std::uint64_t times = 0;
    std::string text;
};

/// A block of the language or of the library.
struct block_view {
    std::string name;  ///< "bank.cpp:12 in transfer(int, int)"
    std::uint64_t executions = 0;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t only_one = 0;  ///< commits without barriers
    std::uint64_t nested = 0;    ///< executions inside another block
    std::uint64_t lost_nanoseconds = 0;
    std::uint64_t alone_nanoseconds = 0;
    std::uint64_t stopped_nanoseconds = 0;  ///< time that other blocks waited because this block ran alone
    std::uint64_t restarts = 0;             ///< attempts that were completely rolled back
    std::uint64_t irrevocable = 0;          ///< irrevocable executions
    std::vector<counted_line> aborts;
    std::vector<counted_line> switches;
    std::vector<std::string> notes;
    std::vector<std::string> hints;

    /// Returns the time that the block cost: the time lost by its roll-backs, the time that it ran alone, and the time
    /// that other blocks waited for it.
    [[nodiscard]] std::uint64_t cost() const noexcept {
        return lost_nanoseconds + alone_nanoseconds + stopped_nanoseconds;
    }
};

/// The state of a context.
struct transaction_view {
    std::uint64_t context = 0;
    std::string thread;  ///< may be empty
    std::string state;   ///< with further details
    std::uint64_t attempt = 0;
    std::string block;
    std::string waits_for;  ///< may be empty
};

struct report_view {
    std::string program;
    std::uint64_t process = 0;
    std::string algorithm;
    std::string policy;
    double seconds = 0;
    std::vector<block_view> blocks;  ///< in descending order of cost
    std::vector<transaction_view> transactions;
};

report_view view_of(const program_report& report);

/// "1 time", "3 times"
std::string counted(std::uint64_t number, const char* what);
/// "1.25 s", "310 us"
std::string duration(std::uint64_t nanoseconds);

std::string as_text(const report_view& report);
std::string as_html(const report_view& report);

}  // namespace tutti::tools
