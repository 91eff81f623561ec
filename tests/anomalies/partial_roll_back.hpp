// Conflicts that a partial roll-back answers.
//
// They are provoked at a known point: the first run of a continuation has another thread commit a change of what it
// read and then reads something else that the same commit changed, so that it cannot but look at what it read.
#pragma once

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {

/// A thread of its own runs `f`, and is over when this returns.
template <class F>
void elsewhere(F&& f) {
    std::jthread{std::forward<F>(f)}.join();
}

class partial_roll_back : public suite {
protected:
    void SetUp() override {
        if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    }

    /// Another transaction changes `seen`, and with it what `notice` reads. It does not wait for users of plain memory,
    /// of which the one that waits for it may be one.
    void overtake(var<int>& seen) {
        elsewhere([&] {
            atomically(impatient, [&](tx& t) {
                seen.set(t, seen.get(t) + 1);
                latest_.set(t, latest_.get(t) + 1);
            });
        });
    }
    /// A read that finds out whether another has overtaken the transaction.
    int notice(tx& t) { return latest_.get(t); }

    static constexpr options impatient{.privatization = privatization::waived};
    var<int> early{0}, late{0}, own{0};
    int before = 0, after = 0;  // runs of what comes before the checkpoint, and of its continuation

private:
    var<int> latest_{0};
};

}  // namespace tutti::anomalies
