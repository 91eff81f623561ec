// Every program under every flavour: one test each, in a suite named after the flavour.
//
// TUTTI_TEST_QUICK: runs only the default algorithm, and few executions.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "runner.hpp"

namespace interleaving {
namespace {

/// The programs in which a policy makes a difference.
const std::vector<program>& conflicts_and_modes() {
    static const std::vector<program> some = [] {
        std::vector<program> all = conflict_programs();
        std::ranges::move(mode_programs(), std::back_inserter(all));
        return all;
    }();
    return some;
}

std::vector<program> all_but(std::initializer_list<std::string_view> names) {
    std::vector<program> all = all_programs();
    std::erase_if(all, [&](const program& p) { return std::ranges::find(names, p.name) != names.end(); });
    return all;
}

/// Excludes programs in which another thread waits for an action of the first attempt, which may end earlier.
const std::vector<program>& programs_without_attempt_counts() {
    static const std::vector<program> some = all_but({"evicted_while_suspended", "snapshot_that_is_evicted"});
    return some;
}

/// A thread that tries to begin a new era blocks other begins until a time limit. It must not block a begin that would
/// release a spinning or repeatedly sleeping thread, because a schedule may run only that thread.
const std::vector<program>& programs_without_time_limits() {
    static const std::vector<program> some =
        all_but({"evicted_while_suspended", "snapshot_that_is_evicted",
                 "undone_reading_while_an_irrevocable_user_of_plain_memory_waits_for_its_lock"});
    return some;
}

/// Returns the programs for a flavour.
const std::vector<program>& programs_of(const flavour& under) {
    if (under.hardware_fails != 0) return programs_without_attempt_counts();
    if (under.clock == clock_state::ending) return programs_without_time_limits();
    return under.policy == "patient" ? all_programs() : conflicts_and_modes();
}

class exploring : public testing::Test {
public:
    exploring(const program& what, const flavour& under) : program_{what}, flavour_{under} {}

    void TestBody() override {
        if (engine_is_wrecked()) GTEST_SKIP() << "an earlier execution has left the engine in the middle of it";
        const std::string where = std::string{flavour_.name} + '.' + program_.name;
#if defined(TUTTI_TEST_QUICK)
        const limits how_much = affordable(500, 300);
#else
        // If hardware fails, a block runs several times, so an execution takes longer.
        const limits how_much = flavour_.hardware_fails != 0 ? affordable(600, 300) : affordable(3200, 800);
#endif
        const result found = run_program(program_, flavour_, how_much, where);
        const exploration& e = found.explored;
        RecordProperty("executions", static_cast<int>(e.exhaustive + e.random));
        RecordProperty("complete_up_to_preemptions", e.complete_up_to);
        RecordProperty("diverged", static_cast<int>(e.diverged));
        RecordProperty("longest", static_cast<int>(e.longest));
        RecordProperty("forced_timeouts", static_cast<int>(e.forced_timeouts));
        if (!found.failure.empty()) ADD_FAILURE() << found.failure;
        if (program_.is_always_woken) {
            EXPECT_EQ(e.forced_timeouts, 0U) << "a wake-up was lost, and a time limit hid it";
        }
        EXPECT_EQ(e.diverged, 0U) << "the engine did not repeat itself under the same schedule";
    }

private:
    const program& program_;
    const flavour& flavour_;
};

[[maybe_unused]] const bool registered = [] {
    for (const flavour& under : flavours) {
#if defined(TUTTI_TEST_QUICK)
        if (under.name != flavours.front().name) continue;
#endif
        for (const program& what : programs_of(under)) {
            testing::RegisterTest(std::string{under.name}.c_str(), what.name, nullptr, nullptr, __FILE__, __LINE__,
                                  [&]() -> testing::Test* { return new exploring{what, under}; });
        }
    }
    return true;
}();

}  // namespace
}  // namespace interleaving
