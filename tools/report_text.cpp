#include <fmt/format.h>

#include <iterator>

#include "report_view.hpp"

namespace tutti::tools {
namespace {

void add_lines(std::string& to, const std::vector<counted_line>& lines) {
    for (const counted_line& l : lines) fmt::format_to(std::back_inserter(to), "  {:>12}  {}\n", l.times, l.text);
}

void add_block(std::string& to, const block_view& b) {
    const block_figures& f = b.figures;
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "\n{}\n  executions {}  commits {}  cancelled {}\n", b.name, f.executions, f.commits,
                   f.cancelled);
    if (f.nested != 0) fmt::format_to(out, "  entered inside another block {}\n", counted(f.nested, "time"));
    if (f.only_one != 0) {
        fmt::format_to(out, "  {} without barriers: no other thread was using transactions\n", f.only_one);
    }
    if (!b.aborts.empty()) {
        fmt::format_to(out, "  rolled back {}; about {} lost\n", counted(b.restarts, "time"),
                       duration(f.lost_nanoseconds));
        add_lines(to, b.aborts);
    }
    if (!b.switches.empty()) {
        fmt::format_to(out, "  irrevocable {}\n", counted(b.irrevocable, "time"));
        add_lines(to, b.switches);
    }
    for (const std::string& hint : b.hints) fmt::format_to(out, "  hint: {}\n", hint);
}

}  // namespace

std::string as_text(const report_view& report) {
    std::string text = fmt::format("{}: {} in {:.2f} s under {}\n", report.program,
                                   counted(report.blocks.size(), "block"), report.seconds, report.algorithm);
    for (const block_view& b : report.blocks) add_block(text, b);
    return text;
}

}  // namespace tutti::tools
