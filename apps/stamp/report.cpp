#include "stamp/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stamp {
namespace {

/// Returns a number, or `unknown` if the build does not count aborts.
std::string aborts_per_commit(const counts& c, std::string_view unknown) {
    if (!c.aborts) return std::string{unknown};
    const double each = c.commits == 0 ? 0 : static_cast<double>(*c.aborts) / static_cast<double>(c.commits);
    return fmt::format("{:.4f}", each);
}

/// Returns a comma and a JSON member with all lengths, or an empty string if there are none.
std::string json_lengths(const std::vector<site_lengths>& all) {
    std::vector<std::string> objects;
    for (const site_lengths& l : all) {
        objects.push_back(
            fmt::format(R"({{"site": "{}", "samples": {}, "median_ns": {:.0f}, "p90_ns": {:.0f}, "p99_ns": {:.0f}}})",
                        l.site, l.samples, l.median, l.p90, l.p99));
    }
    return objects.empty() ? "" : fmt::format(R"(, "lengths": [{}])", fmt::join(objects, ", "));
}

}  // namespace

std::string table_head() {
    return fmt::format("{:<14} {:<11} {:<12} {:>7} {:>10} {:>9} {:>13} {:>14}  {}\n", "program", "build", "algorithm",
                       "threads", "size", "seconds", "transactions", "aborts/commit", "verified");
}

std::string table_row(const report_row& row) {
    return fmt::format("{:<14} {:<11} {:<12} {:>7} {:>10} {:>9.4f} {:>13} {:>14}  {}\n", row.of->name, row.build,
                       row.algorithm, row.how.threads, row.how.size, row.outcome.seconds, row.outcome.blocks.commits,
                       aborts_per_commit(row.outcome.blocks, "-"), row.outcome.wrong.empty() ? "yes" : "NO");
}

std::string json_row(const report_row& row) {
    // No text needs escaping, because all of it is the program's own.
    return fmt::format(
        R"({{"program": "{}", "build": "{}", "algorithm": "{}", "threads": {}, "size": {}, "seed": {}, )"
        R"("seconds": {:.6f}, "transactions": {}, "aborts": {}, "aborts_per_commit": {}, "verified": {}{}}})",
        row.of->name, row.build, row.algorithm, row.how.threads, row.how.size, row.how.seed, row.outcome.seconds,
        row.outcome.blocks.commits, row.outcome.blocks.aborts ? fmt::to_string(*row.outcome.blocks.aborts) : "null",
        aborts_per_commit(row.outcome.blocks, "null"), row.outcome.wrong.empty(), json_lengths(row.lengths));
}

}  // namespace stamp
