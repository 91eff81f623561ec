// Makes a self-contained page, without scripts and network access. The charts are inline SVG.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "report_view.hpp"

namespace tutti::tools {
namespace {

constexpr const char* style = R"(<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1c2530}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:2rem 0 .3rem;overflow-wrap:anywhere}
table{border-collapse:collapse}td,th{padding:.15rem .7rem;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:#1c2530}
.hint{background:#fff6dc;border-left:4px solid #d9a300;padding:.4rem .8rem;margin:.5rem 0}
.key span{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem;vertical-align:-1px}
@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}svg text{fill:#dde3ea}.hint{background:#332a10}}
</style>
)";

/// The colours of an attempt's outcomes, from good to bad.
struct part {
    const char* name;
    const char* color;
};
constexpr part parts[] = {{"committed beside others", "#3a7d44"},
                          {"committed without barriers", "#8fc79a"},
                          {"committed irrevocably", "#d9a300"},
                          {"cancelled", "#7a869a"},
                          {"rolled back", "#b3372f"}};

std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&': safe += "&amp;"; break;
            case '<': safe += "&lt;"; break;
            case '>': safe += "&gt;"; break;
            case '"': safe += "&quot;"; break;
            default: safe += c;
        }
    }
    return safe;
}

std::string capitalized(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

/// Returns the block's numbers of attempts, in the order of `parts`.
std::vector<std::uint64_t> attempts_of(const block_view& b) {
    const std::uint64_t bare = std::min(b.only_one, b.commits);
    const std::uint64_t irrevocable = std::min(b.irrevocable, b.commits - bare);
    return {b.commits - bare - irrevocable, bare, irrevocable, b.cancelled, b.restarts};
}

/// Draws a bar for each block, which shows all of the block's attempts by outcome.
std::string attempts_chart(const report_view& report) {
    constexpr double width = 960;
    constexpr int row = 44;
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"attempts of each block by how they ended\">\n", width,
        row * static_cast<int>(report.blocks.size()));
    const auto out = std::back_inserter(svg);
    int y = 0;
    for (const block_view& b : report.blocks) {
        const std::vector<std::uint64_t> counts = attempts_of(b);
        const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        fmt::format_to(out,
                       "<text x=\"0\" y=\"{0}\">{1}</text>\n<text x=\"{2}\" y=\"{0}\" text-anchor=\"end\">{3}</text>\n",
                       y + 14, escaped(b.name), width, counted(all, "attempt"));
        double x = 0;
        for (std::size_t i = 0; i != counts.size(); ++i) {
            const double length = width * static_cast<double>(counts[i]) / static_cast<double>(all);
            if (counts[i] == 0) continue;
            fmt::format_to(
                out,
                "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"{}\"><title>{}: {}</title></rect>\n",
                x, y + 20, length, parts[i].color, parts[i].name, counts[i]);
            x += length;
        }
        y += row;
    }
    return svg + "</svg>\n";
}

/// Draws a bar for each block whose conflicts or serial runs cost time.
std::string cost_chart(const report_view& report) {
    std::uint64_t most = 0;
    int rows = 0;
    for (const block_view& b : report.blocks) {
        most = std::max(most, b.cost());
        rows += b.cost() != 0 ? 1 : 0;
    }
    if (rows == 0)
        return "<p>No time was lost in attempts that were rolled back, or behind blocks that ran alone.</p>\n";
    constexpr int row = 44;
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 960 {}\" role=\"img\" aria-label=\"time that each block cost\">\n", row * rows);
    const auto out = std::back_inserter(svg);
    int y = 0;
    for (const block_view& b : report.blocks) {
        if (b.cost() == 0) continue;
        fmt::format_to(out,
                       "<text x=\"0\" y=\"{}\">{}: {}</text>\n<rect x=\"0\" y=\"{}\" width=\"{:.1f}\" height=\"16\" "
                       "fill=\"#b3372f\"/>\n",
                       y + 14, escaped(b.name), duration(b.cost()), y + 20,
                       960.0 * static_cast<double>(b.cost()) / static_cast<double>(most));
        y += row;
    }
    return svg + "</svg>\n";
}

void add_lines(std::string& to, const char* title, const std::vector<counted_line>& lines) {
    if (lines.empty()) return;
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "<table><tr><th class=\"n\">times</th><th>{}</th></tr>\n", title);
    for (const counted_line& l : lines) {
        fmt::format_to(out, "<tr><td class=\"n\">{}</td><td>{}</td></tr>\n", l.times, escaped(l.text));
    }
    to += "</table>\n";
}

void add_block(std::string& to, const block_view& b) {
    const auto out = std::back_inserter(to);
    fmt::format_to(out, "<h2>{}</h2>\n<p>{}, {}", escaped(b.name), counted(b.executions, "execution"),
                   counted(b.commits, "commit"));
    if (b.cancelled != 0) fmt::format_to(out, ", {} cancelled", b.cancelled);
    if (b.nested != 0) fmt::format_to(out, "; entered inside another block {}", counted(b.nested, "time"));
    if (b.restarts != 0)
        fmt::format_to(out, "; rolled back {}, about {} lost", counted(b.restarts, "time"),
                       duration(b.lost_nanoseconds));
    if (b.irrevocable != 0) fmt::format_to(out, "; irrevocable {}", counted(b.irrevocable, "time"));
    to += '.';
    for (const std::string& note : b.notes) fmt::format_to(out, " {}.", escaped(capitalized(note)));
    to += "</p>\n";
    add_lines(to, "rolled back because of", b.aborts);
    add_lines(to, "irrevocable because of", b.switches);
    for (const std::string& hint : b.hints) fmt::format_to(out, "<p class=\"hint\">{}</p>\n", escaped(hint));
}

void add_transactions(std::string& to, const std::vector<transaction_view>& all) {
    const auto out = std::back_inserter(to);
    to +=
        "<h2>What contexts are doing now</h2>\n<table><tr><th class=\"n\">context</th><th "
        "class=\"n\">thread</th><th>state</th><th class=\"n\">"
        "attempt</th><th>block</th><th>waits for</th></tr>\n";
    for (const transaction_view& t : all)
        fmt::format_to(out,
                       "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td "
                       "class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
                       t.context, t.thread, escaped(t.state), t.attempt, escaped(t.block), escaped(t.waits_for));
    to += "</table>\n";
}

}  // namespace

std::string as_html(const report_view& report) {
    std::string page =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Atomic blocks</title>\n";
    page += style;
    fmt::format_to(std::back_inserter(page),
                   "</head><body>\n<h1>Atomic blocks of {}</h1>\n<p>Process {}: {} in {:.2f} s under {} and the policy "
                   "{}.</p>\n",
                   escaped(report.program), report.process, counted(report.blocks.size(), "block"), report.seconds,
                   escaped(report.algorithm), escaped(report.policy));
    if (!report.transactions.empty()) add_transactions(page, report.transactions);
    page += "<h2>How attempts ended</h2>\n<p class=\"key\">";
    for (const part& p : parts)
        fmt::format_to(std::back_inserter(page), "<span style=\"background:{}\"></span>{}", p.color, p.name);
    page += "</p>\n" + attempts_chart(report) +
            "<h2>Time lost in attempts that were rolled back, alone, and by others that waited for that</h2>\n" +
            cost_chart(report);
    for (const block_view& b : report.blocks) add_block(page, b);
    return page + "</body></html>\n";
}

}  // namespace tutti::tools
