// tutti-swarm: runs every requested mode with every requested number of threads, checks, and reports.
#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "cli/output_file.hpp"
#include "swarm/pictures.hpp"
#include "swarm/report.hpp"

namespace {

using namespace swarm;

/// Returns 1, 2, 4 … and the maximum, or only the maximum.
std::vector<unsigned> thread_counts(const program_options& options) {
    std::vector<unsigned> counts;
    if (options.sweep) {
        for (unsigned n = 1; n < options.run.threads; n *= 2) counts.push_back(n);
    }
    counts.push_back(options.run.threads);
    return counts;
}

/// Ends with the first run that violates an invariant.
std::vector<run_result> run_all(const program_options& options) {
    std::vector<run_result> results;
    for (const unsigned threads : thread_counts(options)) {
        for (const render_mode* mode : options.modes) {
            run_settings settings = options.run;
            settings.threads = threads;
            results.push_back(simulate(settings, *mode));
            fmt::print("{}", table_row(results.back()));
            std::fflush(stdout);
            if (!results.back().violation.empty()) return results;
        }
    }
    return results;
}

int run(const program_options& options) {
    if (!options.algorithm.empty()) tutti::use_algorithm(options.algorithm);
    if (!options.policy.empty()) tutti::use_policy(options.policy);
    cli::output_file json{"--json", options.json};
    prepare_pictures(options);
    fmt::print("{}", table_head(options, tutti::algorithm()));
    std::fflush(stdout);

    const std::vector<run_result> results = run_all(options);
    if (options.run.record) fmt::print("\n{} frames written\n", write_pictures(options, results.back()));
    if (json.is_open()) json.write(result_json(options, tutti::algorithm(), results));
    if (const std::string& violation = results.back().violation; !violation.empty()) {
        fmt::print(stderr, "tutti-swarm: INCONSISTENT: {}\n", violation);
        return cli::failed;
    }
    fmt::print("\nevery snapshot was consistent\n");
    return cli::success;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-swarm", "use fewer --objects, or fewer --seconds with --png or --gif",
        [&] { return parse_command_line(argc, argv); }, run);
}
