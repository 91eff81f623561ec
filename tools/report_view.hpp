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

struct block_view {
    std::string name;  ///< "bank.cpp:12 in transfer(int, int)"
    block_figures figures;
    std::uint64_t restarts = 0;     ///< attempts that were rolled back as a whole
    std::uint64_t irrevocable = 0;  ///< executions that became so, or were from their begin on
    std::vector<counted_line> aborts;
    std::vector<counted_line> switches;
    std::vector<std::string> hints;
};

struct report_view {
    std::string program;
    std::string algorithm;
    double seconds = 0;
    std::vector<block_view> blocks;  ///< those that cost most first
};

report_view view_of(const report_figures& report);

/// "1 time", "3 times"
std::string counted(std::uint64_t number, const char* what);
/// "1.25 s", "310 us"
std::string duration(std::uint64_t nanoseconds);

std::string as_text(const report_view& report);
std::string as_html(const report_view& report);

}  // namespace tutti::tools
