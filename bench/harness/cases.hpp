// The list of everything that can be measured. Each engine's file adds its cases before main() starts; main() picks
// those that it was asked for and hands them to Google Benchmark.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// What a round is to be.
struct plan {
    unsigned threads = 1;
    std::chrono::microseconds length{60'000};
};

/// What a round was.
struct outcome {
    std::uint64_t operations = 0;
    std::uint64_t bodies = 0;
    std::int64_t witness = 0;
    std::uint64_t steps = 0;      ///< executions of parts of transactions
    std::uint64_t steps_due = 0;  ///< how many would have done, or 0 where there are no parts
    double seconds = 0;
    double disturbed = 0;  ///< the part of the machine's processor time that others used meanwhile
    std::string broken;    ///< the invariant that does not hold, or empty
};

/// One workload on one engine; the number of threads is chosen when it runs. Its name is `family/workload/engine`.
struct measured_case {
    std::string family;
    std::string workload;
    std::string engine;
    bool concurrent = true;  ///< false: one thread only
    std::function<outcome(const plan&)> run;
};

/// All cases, in the order in which they were added. Not for use once threads run.
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
