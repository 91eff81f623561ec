// A report as it is shown: names in the place of addresses, sentences in the place of codes. Both forms, text and HTML,
// say the same.
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

/// A block of either kind.
struct block_view {
    std::string name;  ///< "bank.cpp:12 in transfer(int, int)"
    std::uint64_t executions = 0;
    std::uint64_t commits = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t only_one = 0;  ///< commits without barriers
    std::uint64_t nested = 0;    ///< times that it was entered inside another block
    std::uint64_t lost_nanoseconds = 0;
    std::uint64_t alone_nanoseconds = 0;
    std::uint64_t stopped_nanoseconds = 0;  ///< that others waited because it ran alone
    std::uint64_t restarts = 0;             ///< attempts that were rolled back as a whole
    std::uint64_t irrevocable = 0;          ///< executions that became so, or were from their begin on
    std::vector<counted_line> aborts;
    std::vector<counted_line> switches;
    std::vector<std::string> notes;
    std::vector<std::string> hints;

    /// Time that it took from itself by roll-backs, and from others by running alone.
    [[nodiscard]] std::uint64_t cost() const noexcept {
        return lost_nanoseconds + alone_nanoseconds + stopped_nanoseconds;
    }
};

/// What a context was doing.
struct transaction_view {
    std::uint64_t context = 0;
    std::string thread;  ///< or empty
    std::string state;   ///< and what else there is to say of it
    std::uint64_t attempt = 0;
    std::string block;
    std::string waits_for;  ///< or empty
};

struct report_view {
    std::string program;
    std::uint64_t process = 0;
    std::string algorithm;
    std::string policy;
    double seconds = 0;
    std::vector<block_view> blocks;  ///< those that cost most first
    std::vector<transaction_view> transactions;
};

report_view view_of(const report_figures& report);

/// "1 time", "3 times"
std::string counted(std::uint64_t number, const char* what);
/// "1.25 s", "310 us"
std::string duration(std::uint64_t nanoseconds);

std::string as_text(const report_view& report);
std::string as_html(const report_view& report);

}  // namespace tutti::tools
