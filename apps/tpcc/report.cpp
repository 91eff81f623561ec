#include "tpcc/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tpcc {
namespace {

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

double restarts_per_commit(const profile_statistics& t) {
    return t.commits == 0 ? 0 : static_cast<double>(t.restarts) / static_cast<double>(t.commits);
}

std::string row(std::string_view name, const profile_statistics& t, double seconds) {
    return fmt::format("{:<14}{:>12}{:>12.0f}{:>11.1f}{:>11.1f}{:>11.1f}{:>12.1f}{:>17.4f}{:>13}\n", name, t.commits,
                       static_cast<double>(t.commits) / seconds, microseconds(t.turnaround.percentile(0.5)),
                       microseconds(t.turnaround.percentile(0.99)), microseconds(t.turnaround.percentile(0.999)),
                       microseconds(t.turnaround.max()), restarts_per_commit(t), t.rolled_back);
}

std::string quoted(std::string_view s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    return out + '"';
}

std::string profile_json(std::string_view name, const profile_statistics& t, double seconds) {
    return fmt::format(R"({{"profile": {}, "commits": {}, "per_second": {:.1f}, "p50_us": {:.3f}, "p99_us": {:.3f}, )"
                       R"("p999_us": {:.3f}, "max_us": {:.3f}, "restarts": {}, "rolled_back": {}}})",
                       quoted(name), t.commits, static_cast<double>(t.commits) / seconds,
                       microseconds(t.turnaround.percentile(0.5)), microseconds(t.turnaround.percentile(0.99)),
                       microseconds(t.turnaround.percentile(0.999)), microseconds(t.turnaround.max()), t.restarts,
                       t.rolled_back);
}

std::string verdicts_json(const std::vector<verdict>& verdicts) {
    std::vector<std::string> lines;
    for (const verdict& v : verdicts) {
        lines.push_back(fmt::format(R"({{"condition": {}, "compared": {}, "violated": {}, "first_violation": {}}})",
                                    v.condition, v.compared, v.violated, quoted(v.first_violation)));
    }
    return fmt::format("[{}]", fmt::join(lines, ", "));
}

}  // namespace

double new_orders_per_minute(const run_result& result) {
    return static_cast<double>(result.profiles[static_cast<std::size_t>(profile::new_order)].commits) * 60 /
           result.seconds;
}

std::string result_table(const run_result& result) {
    std::string out =
        fmt::format("{:<14}{:>12}{:>12}{:>11}{:>11}{:>11}{:>12}{:>17}{:>13}\n", "profile", "commits", "per second",
                    "p50 us", "p99 us", "p99.9 us", "max us", "restarts/commit", "rolled back");
    profile_statistics all;
    for (std::size_t p = 0; p < profile_count; ++p) {
        out += row(profile_names[p], result.profiles[p], result.seconds);
        all.merge(result.profiles[p]);
    }
    out += row("all", all, result.seconds);
    out += fmt::format("\nNew-Orders per minute: {:.0f} (committed; closed loop without think times, so not tpmC)\n",
                       new_orders_per_minute(result));
    return out;
}

std::string consistency_table(std::string_view title, const std::vector<verdict>& verdicts) {
    std::string out = fmt::format("{}\n", title);
    for (const verdict& v : verdicts) {
        out += fmt::format("{:>4}  {:<64}{:<10}{:>10} {}\n", v.condition, v.statement,
                           v.violated == 0 ? "ok" : "VIOLATED", v.compared, v.unit);
        if (v.violated != 0) out += fmt::format("      {} times; first: {}\n", v.violated, v.first_violation);
    }
    return out;
}

std::string result_json(const program_options& options, std::string_view algorithm, const run_result& result,
                        const std::vector<verdict>& after_load, const std::vector<verdict>& after_run) {
    std::vector<std::string> profiles;
    for (std::size_t p = 0; p < profile_count; ++p) {
        profiles.push_back("    " + profile_json(profile_names[p], result.profiles[p], result.seconds));
    }
    return fmt::format(
        "{{\n"
        "  \"program\": \"tutti-tpcc\", \"algorithm\": {}, \"warehouses\": {}, \"threads\": {}, \"seed\": {},\n"
        "  \"items\": {}, \"customers_per_district\": {}, \"orders_per_district\": {}, \"mix\": [{}],\n"
        "  \"seconds\": {:.3f}, \"new_orders_per_minute\": {:.1f},\n"
        "  \"profiles\": [\n{}\n  ],\n"
        "  \"consistency_after_load\": {},\n"
        "  \"consistency_after_run\": {}\n"
        "}}\n",
        quoted(algorithm), options.warehouses, options.run.threads, options.run.seed, options.size.items,
        options.size.customers_per_district, options.size.orders_per_district, fmt::join(options.run.mix, ", "),
        result.seconds, new_orders_per_minute(result), fmt::join(profiles, ",\n"), verdicts_json(after_load),
        verdicts_json(after_run));
}

}  // namespace tpcc
