// tutti-tpcc: load, run, check, report.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "tpcc/populate.hpp"
#include "tpcc/progress.hpp"
#include "tpcc/report.hpp"

namespace {

using namespace tpcc;

enum exit_status : int { all_is_well = 0, failed = 1, bad_usage = 2 };

using file = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

/// Opened before the work starts, so that a path nobody can write to is known at once.
file open_for_writing(const std::string& path) {
    file f{path.empty() ? nullptr : std::fopen(path.c_str(), "w"), &std::fclose};
    if (f == nullptr && !path.empty()) {
        throw command_line_error{fmt::format("--json: {} cannot be written: {}", path, std::strerror(errno))};
    }
    return f;
}

/// Prints a checked moment; an empty list when checks are off.
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
    const file json = open_for_writing(options.json);
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

    if (json != nullptr) {
        const std::string text = result_json(options, tutti::algorithm(), result, after_load, after_run);
        if (std::fputs(text.c_str(), json.get()) < 0 || std::fflush(json.get()) != 0) {
            fmt::print(stderr, "tutti-tpcc: --json: {} cannot be written: {}\n", options.json, std::strerror(errno));
            return failed;
        }
    }
    return all_hold(after_load) && all_hold(after_run) ? all_is_well : failed;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto parsed = parse_command_line(argc, argv);
        if (const auto* help = std::get_if<help_text>(&parsed)) {
            fmt::print("{}", help->text);
            return all_is_well;
        }
        return run(std::get<program_options>(parsed));
    } catch (const command_line_error& e) {
        fmt::print(stderr, "tutti-tpcc: {}\n", e.what());
        return bad_usage;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "tutti-tpcc: out of memory; use fewer --warehouses or fewer --seconds\n");
        return failed;
    } catch (const std::exception& e) {
        fmt::print(stderr, "tutti-tpcc: {}\n", e.what());
        return failed;
    }
}
