// tutti-bench: picks cases by family, engine and threads, and lets Google Benchmark run them.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/cases.hpp"

namespace {

using names = std::vector<std::string>;

struct settings {
    names families;
    names engines;
    names workloads;
    std::vector<unsigned> threads{1, 2, 8};
    unsigned round_ms = 60;
    unsigned repetitions = 5;
    bool quick = false;
};

/// These raise a flag of the process for good that makes later commits dearer.
const std::string needs_own_process = "plain";

bool asked_for(const names& wanted, const std::string& name) {
    return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
}

bool asked_for(const settings& how, const bench::measured_case& c) {
    if (how.families.empty() && c.family == needs_own_process) return false;
    return asked_for(how.families, c.family) && asked_for(how.workloads, c.workload) &&
           asked_for(how.engines, c.engine);
}

int rounds = 0;
int rounds_done = 0;
int broken = 0;

/// One iteration for Google Benchmark is one round; its time is that of one operation of one thread.
void measure(benchmark::State& state, const bench::measured_case& c, const bench::plan& how) {
    for (auto _ : state) {
        const bench::outcome done = c.run(how);
        if (!done.broken.empty()) {
            ++broken;
            std::fprintf(stderr, "BROKEN: %s/%s/%s at %u threads: %s\n", c.family.c_str(), c.workload.c_str(),
                         c.engine.c_str(), how.threads, done.broken.c_str());
            state.SkipWithError(done.broken.c_str());
            return;
        }
        const auto operations = static_cast<double>(std::max<std::uint64_t>(done.operations, 1));
        state.SetIterationTime(done.seconds * how.threads / operations);
        state.counters["operations_per_second"] = operations / done.seconds;
        if (done.bodies != 0) {
            const auto bodies = static_cast<double>(done.bodies);
            state.counters["abort_percent"] = 100 * (bodies - static_cast<double>(done.operations)) / bodies;
        }
    }
    std::fprintf(stderr, "round %d of %d: %s/%s/%s/%u\n", ++rounds_done, rounds, c.family.c_str(), c.workload.c_str(),
                 c.engine.c_str(), how.threads);
}

bool add_benchmarks(const settings& how) {
    for (const bench::measured_case& c : bench::cases()) {
        if (!asked_for(how, c)) continue;
        for (const unsigned threads : how.threads) {
            if (threads > 1 && !c.concurrent) continue;
            const std::string name = c.family + "/" + c.workload + "/" + c.engine + "/" + std::to_string(threads);
            const bench::plan plan{threads, std::chrono::milliseconds{how.round_ms}};
            benchmark::RegisterBenchmark(name.c_str(), [&c, plan](benchmark::State& s) { measure(s, c, plan); })
                ->Iterations(1)
                ->UseManualTime()
                ->Repetitions(static_cast<int>(how.repetitions));
            rounds += static_cast<int>(how.repetitions);
        }
    }
    return rounds != 0;
}

}  // namespace

int main(int argc, char** argv) {
    // Interleaving makes rows comparable on a machine that drifts; what the user says comes later and wins.
    std::vector<char*> arguments(argv, argv + argc);
    std::string defaults[] = {"--benchmark_enable_random_interleaving=true",
                              "--benchmark_display_aggregates_only=true"};
    for (std::string& d : defaults) arguments.insert(arguments.begin() + 1, d.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());

    settings how;
    CLI::App app{"Measures Tutti and its peers. Options of Google Benchmark (--benchmark_...) are taken, too."};
    app.add_option("families", how.families, "sets, bank, costs, ...; all by default, except plain");
    app.add_option("--engine", how.engines, "only these engines")->delimiter(',');
    app.add_option("--workload", how.workloads, "only these workloads")->delimiter(',');
    app.add_option("--threads", how.threads, "numbers of threads")->delimiter(',')->check(CLI::Range(1, 256));
    auto* round = app.add_option("--round-ms", how.round_ms, "length of a round")->check(CLI::Range(1, 60000));
    auto* repetitions =
        app.add_option("--repetitions", how.repetitions, "rounds of each case")->check(CLI::Range(1, 1000));
    app.add_flag("--quick", how.quick, "3 rounds of 20 ms");
    CLI11_PARSE(app, count, arguments.data());
    if (how.quick) {
        if (round->empty()) how.round_ms = 20;
        if (repetitions->empty()) how.repetitions = 3;
    }

    if (!add_benchmarks(how)) {
        std::fprintf(stderr, "tutti-bench: nothing is called that; --benchmark_list_tests=true shows what there is\n");
        return 2;
    }
    benchmark::AddCustomContext("round_ms", std::to_string(how.round_ms));
    benchmark::RunSpecifiedBenchmarks();
    if (broken != 0) std::fprintf(stderr, "tutti-bench: %d rounds broke an invariant, see above\n", broken);
    return broken == 0 ? 0 : 1;
}
