// The list of all benchmarks. Each engine's file adds its cases before main() starts. main() selects the requested ones
// and passes them to Google Benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// The parameters of a round.
struct plan {
    unsigned threads = 1;
    std::chrono::microseconds length{60'000};
};

/// The results of a round.
struct outcome {
    std::uint64_t operations = 0;
    std::uint64_t bodies = 0;
    std::int64_t invariant_sum = 0;
    std::uint64_t steps = 0;      ///< executions of parts of transactions
    std::uint64_t steps_due = 0;  ///< executions without restarts, or 0 if there are no parts
    double seconds = 0;
    double disturbed = 0;  ///< fraction of the machine's processor time used by other processes
    std::string broken;    ///< the violated invariant, or empty
};

/// One workload on one engine. The number of threads is chosen at run time. The case's name is
/// `family/workload/engine`.
struct measured_case {
    std::string family;
    std::string workload;
    std::string engine;
    bool concurrent = true;  ///< false: only one thread
    std::function<outcome(const plan&)> run;
};

/// Returns all cases in the order of registration. Not to be called once threads run.
std::vector<measured_case>& cases();

/// Adds a case for the engine policy E.
template <class E>
void add_case(std::string_view family, std::string_view workload, std::function<outcome(const plan&)> run) {
    const auto in_session = [run = std::move(run)](const plan& how) {
        [[maybe_unused]] const typename E::session session;
        return run(how);
    };
    cases().push_back({std::string{family}, std::string{workload}, std::string{E::name}, E::concurrent, in_session});
}

}  // namespace bench
