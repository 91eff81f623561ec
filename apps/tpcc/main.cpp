// tutti-tpcc: loads, runs, checks, and reports.
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "cli/output_file.hpp"
#include "tpcc/populate.hpp"
#include "tpcc/progress.hpp"
#include "tpcc/report.hpp"

namespace {

using namespace tpcc;

/// Checks and prints the verdicts. Returns an empty list if checks are off.
std::vector<verdict> check(const database& db, const program_options& options, moment when) {
    if (!options.check) return {};
    std::vector<verdict> verdicts = check_consistency(db, when);
    const char* const title = when == moment::after_load ? "consistency after the load (clause 3.3.2)"
                                                         : "consistency after the run (clause 3.3.2)";
    fmt::print("{}\n", consistency_table(title, verdicts));
    std::fflush(stdout);
    return verdicts;
}

int run(const program_options& options) {
    cli::output_file json{"--json", options.json};
    if (!options.algorithm.empty()) tutti::use_algorithm(options.algorithm);

    fmt::print("TPC-C in memory: {} warehouse{}, {} thread{}, {}\n\n", options.warehouses,
               options.warehouses == 1 ? "" : "s", options.run.threads, options.run.threads == 1 ? "" : "s",
               tutti::algorithm());
    std::fflush(stdout);
    progress_bar loading{fmt::format("loading {} warehouse{}", options.warehouses, options.warehouses == 1 ? "" : "s")};
    const auto db = populate(options.size, options.warehouses, options.run.seed, options.run.threads,
                             [&](std::size_t done, std::size_t all) { loading.show(done, all); });
    loading.finish();
    const std::vector<verdict> after_load = check(*db, options, moment::after_load);

    fmt::print(stderr, "running for {} s\n", options.run.time.count());
    if (options.statistics) tutti::enable_statistics(true);
    const run_result result = run_mix(*db, options.run);
    fmt::print("{}\n", result_table(result));
    if (options.statistics) {
        std::fflush(stdout);
        tutti::print_statistics(std::cout);
        std::cout << std::endl;
        tutti::enable_statistics(false);
    }
    const std::vector<verdict> after_run = check(*db, options, moment::after_run);

    if (json.is_open()) json.write(result_json(options, tutti::algorithm(), result, after_load, after_run));
    return all_hold(after_load) && all_hold(after_run) ? cli::success : cli::failed;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-tpcc", "use fewer --warehouses or fewer --seconds", [&] { return parse_command_line(argc, argv); }, run);
}
