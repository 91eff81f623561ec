// Which executions of a program are tried: all with few preemptions, then many at random.
//
// Exhaustive part: depth-first over the choices, without storing states, by running the program again with a recorded
// prefix. The number of preemptions is bounded, not their place; most errors need one or two (Musuvathi & Qadeer,
// "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007). Bounds are tried in
// ascending order, so the first failure has the fewest preemptions. A bound that would not come to its end within the
// limit is not begun: the search would only vary the last steps of the program. Its share goes to the random part.
//
// Random part: even seeds walk at random, with a chance to switch that differs from seed to seed; odd seeds use random
// priorities with three change points (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
// Finding Bugs", ASPLOS 2010).
#pragma once

#include <functional>
#include <optional>

#include "scheduler.hpp"

namespace interleaving {

struct limits {
    unsigned preemptions = 8;         ///< the largest bound that is tried
    std::uint64_t exhaustive = 4000;  ///< executions of the exhaustive part
    std::uint64_t random = 1000;      ///< and of the random one, at least
    std::uint64_t seed = 1;           ///< of the first random execution; the next one has the next
};

/// One execution and what was wrong with it.
struct trial {
    execution ran;
    std::optional<std::string> failure;
};

struct exploration {
    std::uint64_t exhaustive = 0;  ///< executions of the exhaustive part
    std::uint64_t random = 0;
    /// The largest number of preemptions all of whose schedules were tried; -1 if not even those with none.
    int complete_up_to = -1;
    std::uint64_t diverged = 0;  ///< executions that did not repeat their recorded prefix
    std::uint32_t longest = 0;   ///< points of the longest execution
    std::uint64_t forced_timeouts = 0;
    std::optional<trial> failed;
};

/// Calls `run` until it reports a failure or the limits are reached.
exploration explore(const limits& how_much, const std::function<trial(strategy&)>& run);

/// Repeats one execution. Decisions that do not fit are ignored.
class replay final : public strategy {
public:
    explicit replay(schedule decisions) : decisions_{std::move(decisions)} {}
    int choose(const situation& now) noexcept override;

private:
    schedule decisions_;
    std::size_t next_ = 0;
};

/// Every schedule with at most so many preemptions, one execution after the other: `do run(search); while (next())`.
/// A time limit that runs out while another thread could go on counts as a preemption.
class depth_first final : public strategy {
public:
    explicit depth_first(unsigned preemptions) : bound_{preemptions} {}
    int choose(const situation& now) noexcept override;
    /// Prepares the next execution; false when all have been run.
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
