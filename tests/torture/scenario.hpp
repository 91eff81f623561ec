// The port of a scenario: shared data, one random step of a worker on it, and an audit.
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

/// What a body throws to fail on purpose.
struct staged_failure {};

/// How one step runs its blocks; drawn anew for each step.
struct manner {
    tutti::mode mode;
    bool jumps;
    tutti::privatization privatization = tutti::privatization::safe;

    static manner draw(support::random& dice);
};

/// Runs `body` in that manner. A body of a manner that jumps must be free of destructors.
template <class F>
auto run(const manner& how, options o, F&& body) {
    o.mode = how.mode;
    o.privatization = how.privatization;
    if (how.jumps) return atomically(no_unwind, o, body);
    return atomically(o, body);
}

class scenario {
public:
    virtual ~scenario() = default;
    [[nodiscard]] virtual const char* name() const = 0;
    /// A few blocks. May throw bad_alloc, cancelled or staged_failure: the step then has had no effect, or all of its
    /// blocks up to the failed one. Must not wait for another step longer than a moment.
    virtual void step(support::random& dice) = 0;
    /// How many threads of its own it wants, which live from start to end, and what each of them does again and again.
    /// May wait for as long as it takes, but for `stopping`.
    [[nodiscard]] virtual unsigned residents() const { return 0; }
    virtual void reside(unsigned /*index*/, support::random& /*dice*/) {}
    /// Whether everything is in order, now that no step runs; the reason if it is not.
    virtual std::string audit() = 0;
};

/// True from the moment at which waiting steps have to give up.
inline var<bool> stopping{false};

/// Prints what was violated, and the seed, and ends the program with status 1.
[[noreturn]] void violated(const char* scenario, const std::string& what);

std::unique_ptr<scenario> make_bank();
std::unique_ptr<scenario> make_list();
std::unique_ptr<scenario> make_boxes();
std::unique_ptr<scenario> make_hand_over();

std::vector<std::unique_ptr<scenario>> all_scenarios();

}  // namespace tutti::torture
