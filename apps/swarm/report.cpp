#include "swarm/report.hpp"

#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace swarm {
namespace {

double milliseconds(std::chrono::nanoseconds t) { return std::chrono::duration<double, std::milli>{t}.count(); }

std::string run_json(const run_result& r) {
    return fmt::format(
        R"({{"mode": "{}", "threads": {}, "seconds": {:.3f}, "snapshots": {}, "in_time": {}, "success": {:.5f}, )"
        R"("fps": {:.2f}, "p50_ms": {:.4f}, "p99_ms": {:.4f}, "max_ms": {:.4f}, "snapshot_restarts": {}, )"
        R"("steps": {}, "step_restarts": {}, "retry_rate": {:.5f}, "consistent": {}}})",
        r.mode->name, r.threads, r.seconds, r.snapshot_times.size(), r.in_time, r.success(), r.frames_per_second(),
        milliseconds(r.percentile(0.5)), milliseconds(r.percentile(0.99)), milliseconds(r.percentile(1)),
        r.snapshot_restarts, r.steps, r.step_restarts, r.retry_rate(), r.violation.empty());
}

}  // namespace

std::string table_head(const program_options& options, std::string_view algorithm) {
    const run_settings& run = options.run;
    return fmt::format(
        "Swarm: {} objects, {} frames a second, {:.3g} % of the snapshots within {:.2f} ms; {}, policy {}\n\n"
        "{:>7}  {:<12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}{:>12}\n"
        "{:>7}  {:<12}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}{:>12}\n",
        run.objects, run.fps, 100 * run.wanted.qos, milliseconds(run.wanted.deadline), algorithm,
        tutti::policy_in_force(),                                                //
        "", "", "deadline", "", "snapshot", "", "", "restarts/", "physics", "",  //
        "threads", "snapshot", "kept %", "fps", "p50 ms", "p99 ms", "max ms", "snapshot", "retry %", "steps/s");
}

std::string table_row(const run_result& r) {
    return fmt::format("{:>7}  {:<12}{:>9.1f}{:>9.1f}{:>9.2f}{:>9.2f}{:>9.2f}{:>12.1f}{:>9.1f}{:>12.0f}\n", r.threads,
                       r.mode->name, 100 * r.success(), r.frames_per_second(), milliseconds(r.percentile(0.5)),
                       milliseconds(r.percentile(0.99)), milliseconds(r.percentile(1)), r.restarts_per_snapshot(),
                       100 * r.retry_rate(), static_cast<double>(r.steps) / r.seconds);
}

std::string result_json(const program_options& options, std::string_view algorithm,
                        std::span<const run_result> results) {
    std::vector<std::string> runs;
    for (const run_result& r : results) runs.push_back("    " + run_json(r));
    return fmt::format(
        "{{\n"
        R"(  "program": "tutti-swarm", "algorithm": "{}", "policy": "{}", "objects": {}, "seed": {},)"
        "\n"
        R"(  "fps": {}, "deadline_ms": {:.4f}, "qos": {},)"
        "\n"
        "  \"runs\": [\n{}\n  ]\n"
        "}}\n",
        algorithm, tutti::policy_in_force(), options.run.objects, options.run.seed, options.run.fps,
        milliseconds(options.run.wanted.deadline), options.run.wanted.qos, fmt::join(runs, ",\n"));
}

}  // namespace swarm
