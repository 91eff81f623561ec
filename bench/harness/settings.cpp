#include "harness/settings.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace bench {
namespace {

using names = std::vector<std::string>;

bool among(const names& wanted, const std::string& name) { return std::ranges::find(wanted, name) != wanted.end(); }

}  // namespace

bool settings::ask_for(const measured_case& c) const {
    return (families.empty() || among(families, c.family)) && (workloads.empty() || among(workloads, c.workload)) &&
           (engines.empty() || among(engines, c.engine));
}

settings parse(int argc, char** argv) {
    settings s;
    CLI::App app{"Measures Tutti and its peers. Options of Google Benchmark (--benchmark_...) are taken, too."};
    app.allow_extras();
    app.add_option("families", s.families, "some of those that --list shows; all by default");
    app.add_option("--workload", s.workloads, "only these, separated by commas")->delimiter(',');
    app.add_option("--engine", s.engines, "only these, separated by commas")->delimiter(',');
    app.add_option("--threads", s.threads, "numbers of threads; 1,2,8 by default")
        ->delimiter(',')
        ->check(CLI::Range(1, 256));
    const auto* round = app.add_option("--round-ms", s.round_ms, "length of a round; 60 by default, 20 if quick")
                            ->check(CLI::Range(1, 60000));
    const auto* repetitions = app.add_option("--repetitions", s.repetitions, "rounds of each case; 5, or 3 if quick")
                                  ->check(CLI::Range(1, 1000));
    bool quick = false;
    app.add_flag("--quick", quick, "fewer and shorter rounds, for a first look");
    app.add_flag("--list", s.list, "show what can be measured: family/workload/engine");
    try {
        app.parse(argc, argv);
        s.for_google_benchmark = app.remaining();
        for (const std::string& argument : s.for_google_benchmark) {
            if (!argument.starts_with("--benchmark_")) throw CLI::ExtrasError({argument});
        }
    } catch (const CLI::ParseError& e) {
        std::exit(app.exit(e));
    }
    if (quick && round->empty()) s.round_ms = 20;
    if (quick && repetitions->empty()) s.repetitions = 3;
    return s;
}

}  // namespace bench
