// Chooses the executions of a program: all with few preemptions, then many at random.
//
// Exhaustive part: depth-first search over the choices. It stores no states, but runs the program again with a recorded
// prefix. It bounds the number of preemptions, but not their place: most errors need one or two (Musuvathi & Qadeer,
// "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007). It tries the bounds in
// ascending order, so the first failure has the fewest preemptions. It skips a bound that would exceed the limit,
// because a partial search only varies the last steps of the program. The random part gets the remaining executions.
//
// Random part: even seeds walk at random, with a switch probability that depends on the seed. Odd seeds use random
// priorities with three change points (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
// Finding Bugs", ASPLOS 2010).
#pragma once

#include <functional>
#include <optional>

#include "scheduler.hpp"

namespace interleaving {

struct limits {
    unsigned preemptions = 8;         ///< the largest bound
    std::uint64_t exhaustive = 4000;  ///< executions of the exhaustive part
    std::uint64_t random = 1000;      ///< minimum number of executions of the random part
    std::uint64_t seed = 1;           ///< seed of the first random execution; each following execution has the next one
};

/// One execution, and its error.
struct trial {
    execution ran;
    std::optional<std::string> failure;
};

struct exploration {
    std::uint64_t exhaustive = 0;  ///< executions of the exhaustive part
    std::uint64_t random = 0;
    /// The largest number of preemptions whose schedules were all tried; -1 if the schedules without preemptions were
    /// not.
    int complete_up_to = -1;
    std::uint64_t diverged = 0;  ///< executions that did not repeat their recorded prefix
    std::uint32_t longest = 0;   ///< points of the longest execution
    std::uint64_t forced_timeouts = 0;
    std::optional<trial> failed;
};

/// Calls `run` until it reports a failure or the limits are reached.
exploration explore(const limits& how_much, const std::function<trial(strategy&)>& run);

/// Repeats one execution. Ignores decisions that do not fit.
class replay final : public strategy {
public:
    explicit replay(schedule decisions) : decisions_{std::move(decisions)} {}
    int choose(const situation& now) noexcept override;

private:
    schedule decisions_;
    std::size_t next_ = 0;
};

/// Enumerates every schedule with at most `preemptions` preemptions: `do run(search); while (next())`. A time limit
/// that expires while another thread could continue counts as a preemption.
class depth_first final : public strategy {
public:
    explicit depth_first(unsigned preemptions) : bound_{preemptions} {}
    int choose(const situation& now) noexcept override;
    /// Prepares the next execution. Returns false when all have been run.
    bool next() noexcept;
    [[nodiscard]] std::uint64_t diverged() const noexcept { return diverged_; }

private:
    struct node {
        std::uint32_t point;
        thread_set options;
        thread_set untried;
        int chosen;
    };
    std::vector<node> path_;
    std::size_t depth_ = 0;
    unsigned spent_ = 0;
    unsigned bound_;
    std::uint64_t diverged_ = 0;
};

}  // namespace interleaving
