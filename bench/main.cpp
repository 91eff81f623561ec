// Selects the requested cases and lets Google Benchmark run, interleave and report them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/cases.hpp"
#include "harness/settings.hpp"

namespace {

/// ./dev bench runs several programs and continues after this status: another program may have the requested cases.
constexpr int exit_nothing_to_measure = 3;

int rounds = 0;
int rounds_done = 0;
int rounds_broken = 0;

/// An iteration of Google Benchmark is one round. The iteration's time is that of one operation of one thread.
void measure(benchmark::State& state, const bench::measured_case& c, const bench::plan& how, const std::string& name) {
    for (auto _ : state) {
        const bench::outcome done = c.run(how);
        if (!done.broken.empty()) {
            ++rounds_broken;
            std::fprintf(stderr, "BROKEN: %s: %s\n", name.c_str(), done.broken.c_str());
            state.SkipWithError(done.broken.c_str());
            return;
        }
        const auto operations = static_cast<double>(std::max<std::uint64_t>(done.operations, 1));
        state.SetIterationTime(done.seconds * how.threads / operations);
        state.counters["operations_per_second"] = operations / done.seconds;
        state.counters["disturbed_percent"] = 100 * done.disturbed;
        if (done.bodies != 0) {
            const auto bodies = static_cast<double>(done.bodies);
            state.counters["abort_percent"] = 100 * (bodies - static_cast<double>(done.operations)) / bodies;
        }
        if (done.steps_due != 0) {
            state.counters["steps_per_step_due"] =
                static_cast<double>(done.steps) / static_cast<double>(done.steps_due);
        }
    }
    std::fprintf(stderr, "round %d of %d: %s\n", ++rounds_done, rounds, name.c_str());
}

void add_benchmark(const bench::measured_case& c, unsigned threads, const bench::settings& how) {
    const std::string name = c.family + "/" + c.workload + "/" + c.engine + "/" + std::to_string(threads);
    const bench::plan plan{threads, std::chrono::milliseconds{how.round_ms}};
    benchmark::RegisterBenchmark(name.c_str(), [&c, plan, name](benchmark::State& s) { measure(s, c, plan, name); })
        ->Iterations(1)
        ->UseManualTime()
        ->Repetitions(static_cast<int>(how.repetitions));
    rounds += static_cast<int>(how.repetitions);
}

void initialize_google_benchmark(char* program, std::vector<std::string> arguments) {
    // Rounds in a random order make rows comparable on a machine whose speed drifts. The user's options come later and
    // take precedence.
    arguments.insert(arguments.begin(), {"--benchmark_enable_random_interleaving=true",  //
                                         "--benchmark_display_aggregates_only=true"});
    std::vector<char*> pointers{program};
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    pointers.push_back(nullptr);
    benchmark::Initialize(&count, pointers.data());
}

}  // namespace

int main(int argc, char** argv) {
    const bench::settings how = bench::parse(argc, argv);
    for (const bench::measured_case& c : bench::cases()) {
        if (!how.ask_for(c)) continue;
        if (how.list) {
            std::printf("%s/%s/%s\n", c.family.c_str(), c.workload.c_str(), c.engine.c_str());
            continue;
        }
        for (const unsigned threads : how.threads) {
            if (threads == 1 || c.concurrent) add_benchmark(c, threads, how);
        }
    }
    if (how.list) return 0;
    if (rounds == 0) {
        std::fprintf(stderr, "there is nothing of that name to measure here; --list shows what there is\n");
        return exit_nothing_to_measure;
    }

    initialize_google_benchmark(argv[0], how.for_google_benchmark);
    benchmark::AddCustomContext("round_ms", std::to_string(how.round_ms));
    if (benchmark::RunSpecifiedBenchmarks() == 0) return exit_nothing_to_measure;
    if (rounds_broken != 0) std::fprintf(stderr, "%d rounds broke an invariant, see above\n", rounds_broken);
    return rounds_broken == 0 ? 0 : 1;
}
