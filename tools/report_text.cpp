#include <fmt/format.h>

#include <iterator>

#include "report_view.hpp"

namespace tutti::tools {
namespace {

void add_lines(std::string& to, const std::vector<counted_line>& lines) {
    for (const counted_line& l : lines) fmt::format_to(std::back_inserter(to), "  {:>12}  {}\n", l.times, l.text);
}

void add_block(std::string& to, const block_view& b) {
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "\n{}\n  executions {}  commits {}  cancelled {}\n", b.name, b.executions, b.commits,
                   b.cancelled);
    if (b.nested != 0) fmt::format_to(out, "  entered inside another block {}\n", counted(b.nested, "time"));
    for (const std::string& note : b.notes) fmt::format_to(out, "  {}\n", note);
    if (!b.aborts.empty()) {
        fmt::format_to(out, "  rolled back {}; about {} lost\n", counted(b.restarts, "time"),
                       duration(b.lost_nanoseconds));
        add_lines(to, b.aborts);
    }
    if (!b.switches.empty()) {
        fmt::format_to(out, "  irrevocable {}\n", counted(b.irrevocable, "time"));
        add_lines(to, b.switches);
    }
    for (const std::string& hint : b.hints) fmt::format_to(out, "  hint: {}\n", hint);
}

void add_transactions(std::string& to, const std::vector<transaction_view>& all) {
    const auto out = std::back_inserter(to);
    const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text.c_str(); };
    constexpr const char* row = "{:>8}  {:>8}  {:<28}{:>8}  {:<12}  {}\n";
    to += '\n';
    fmt::format_to(out, row, "context", "thread", "state", "attempt", "waits for", "block");
    for (const transaction_view& t : all)
        fmt::format_to(out, row, t.context, or_dash(t.thread), t.state, t.attempt, or_dash(t.waits_for), t.block);
}

}  // namespace

std::string as_text(const report_view& report) {
    std::string text =
        fmt::format("{}: {} in {:.2f} s under {} and the policy {}\n", report.program,
                    counted(report.blocks.size(), "block"), report.seconds, report.algorithm, report.policy);
    if (!report.transactions.empty()) add_transactions(text, report.transactions);
    for (const block_view& b : report.blocks) add_block(text, b);
    return text;
}

}  // namespace tutti::tools
