// tutti-swarm: run every mode with every number of threads that is asked for, check, report.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "swarm/pictures.hpp"
#include "swarm/report.hpp"

namespace {

using namespace swarm;

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

/// 1, 2, 4 … and the greatest, or only that one.
std::vector<unsigned> thread_counts(const program_options& options) {
    std::vector<unsigned> counts;
    if (options.sweep) {
        for (unsigned n = 1; n < options.run.threads; n *= 2) counts.push_back(n);
    }
    counts.push_back(options.run.threads);
    return counts;
}

/// Ends with the first run that broke an invariant.
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
    const file json = open_for_writing(options.json);
    prepare_pictures(options);
    fmt::print("{}", table_head(options, tutti::algorithm()));
    std::fflush(stdout);

    const std::vector<run_result> results = run_all(options);
    if (options.run.record) fmt::print("\n{} frames written\n", write_pictures(options, results.back()));
    if (json != nullptr) {
        const std::string text = result_json(options, tutti::algorithm(), results);
        if (std::fputs(text.c_str(), json.get()) < 0 || std::fflush(json.get()) != 0) {
            fmt::print(stderr, "tutti-swarm: --json: {} cannot be written: {}\n", options.json, std::strerror(errno));
            return failed;
        }
    }
    if (const std::string& violation = results.back().violation; !violation.empty()) {
        fmt::print(stderr, "tutti-swarm: INCONSISTENT: {}\n", violation);
        return failed;
    }
    fmt::print("\nevery snapshot was consistent\n");
    return all_is_well;
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
        fmt::print(stderr, "tutti-swarm: {}\n", e.what());
        return bad_usage;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "tutti-swarm: out of memory; use fewer --objects, or fewer --seconds with --png or --gif\n");
        return failed;
    } catch (const std::exception& e) {
        fmt::print(stderr, "tutti-swarm: {}\n", e.what());
        return failed;
    }
}
