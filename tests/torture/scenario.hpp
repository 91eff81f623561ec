// The interface of a scenario: shared data, one random step of a worker on it, and an audit.
//
// To add one: a class, and its line in `all_scenarios`.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "tutti/tutti.hpp"

namespace tutti::torture {

/// Thrown by a body that fails on purpose.
struct staged_failure {};

/// The way in which one step runs its blocks; drawn anew for each step.
struct manner {
    tutti::mode mode;
    bool jumps;
    bool in_snapshots = false;  // optimistic blocks that only read run in mode::snapshot
    tutti::privatization privatization = tutti::privatization::safe;

    static manner draw(support::random& dice);
};

/// Runs `body` in that manner. With a manner that jumps, the body must not have destructors.
template <class F>
auto run(const manner& how, options o, F&& body) {
    o.mode = o.read_only && how.in_snapshots && how.mode == mode::optimistic ? mode::snapshot : how.mode;
    o.privatization = how.privatization;
    if (how.jumps) return atomically(no_unwind, o, body);
    return atomically(o, body);
}

class scenario {
public:
    virtual ~scenario() = default;
    [[nodiscard]] virtual const char* name() const = 0;
    /// Runs a few blocks. May throw bad_alloc, cancelled or staged_failure: then the step had no effect, or the effect
    /// of all of its blocks before the failed one. Must not wait for another step longer than a moment.
    virtual void step(support::random& dice) = 0;
    /// Returns the number of dedicated threads, which live from start to end and run `run_dedicated` repeatedly.
    /// `run_dedicated` may wait without a limit, except for `stopping`.
    [[nodiscard]] virtual unsigned dedicated_threads() const { return 0; }
    virtual void run_dedicated(unsigned /*index*/, support::random& /*dice*/) {}
    /// Checks the data while no step runs. Returns the error, or an empty string.
    virtual std::string audit() = 0;
};

/// True from the time at which waiting steps have to end.
inline var<bool> stopping{false};

/// Prints the violation and the seed, and ends the program with status 1.
[[noreturn]] void violated(const char* scenario, const std::string& what);

std::unique_ptr<scenario> make_bank();
std::unique_ptr<scenario> make_list();
std::unique_ptr<scenario> make_boxes();
std::unique_ptr<scenario> make_hand_over();

std::vector<std::unique_ptr<scenario>> all_scenarios();

}  // namespace tutti::torture
