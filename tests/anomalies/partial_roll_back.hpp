// Conflicts that a partial roll-back resolves.
//
// The tests provoke them at a known point. In the first run of a continuation, another thread commits a change of a
// variable that the continuation has read. The continuation then reads a second variable of that commit, and so has to
// validate its reads.
#pragma once

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {

/// Runs `f` on a new thread, and waits for its end.
template <class F>
void elsewhere(F&& f) {
    std::jthread{std::forward<F>(f)}.join();
}

class partial_roll_back_test : public suite {
protected:
    void SetUp() override {
        if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    }

    /// Changes `seen`, and the variable that `notice` reads, in another transaction. That transaction does not wait for
    /// users of plain memory, because the caller may be such a user, and waits for that transaction.
    void overtake(var<int>& seen) {
        elsewhere([&] {
            atomically(impatient, [&](tx& t) {
                seen.set(t, seen.get(t) + 1);
                latest_.set(t, latest_.get(t) + 1);
            });
        });
    }
    /// Reads a variable that shows whether another transaction has overtaken this one.
    int notice(tx& t) { return latest_.get(t); }

    static constexpr options impatient{.privatization = privatization::waived};
    var<int> early{0}, late{0}, own{0};
    int before = 0, after = 0;  // runs of the code before the checkpoint, and of its continuation

private:
    var<int> latest_{0};
};

}  // namespace tutti::anomalies
