// Checkpoints beside other transactions: a continuation that mixes two states, and a wait for a transaction that waits
// for this one. Also two transactions that roll each other back forever, and modes without partial roll-back.
//
// Catches a partial roll-back that moves the snapshot past earlier reads, that keeps an orec while it waits for its
// adversary, or that leaves marks behind. Catches a checkpoint that breaks the promise of a mode.
#include "anomalies/flavour.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

/// Returns true if a conflict between writers shows at the first write.
bool locks_at_once() { return algorithm() == "wb-etl" || algorithm() == "wt-etl"; }

/// Holds a variable in a running transaction until `release` is called. Then the write is kept or rolled back.
class holder {
public:
    holder(var<int>& v, bool keeps) : thread_{[this, &v, keeps] { hold(v, keeps); }} {
        while (!holds_.load()) std::this_thread::yield();
    }
    void release() { free_ = true; }

private:
    void hold(var<int>& v, bool keeps) {
        (void)try_atomically([&](tx& t) {
            v.set(t, 1000);
            holds_ = true;
            while (!free_.load()) std::this_thread::yield();
            if (!keeps) cancel(t);
        });
    }
    std::atomic<bool> holds_{false}, free_{false};
    std::jthread thread_;
};

class checkpoints_test : public suite_of_flavours {};

// Money moves among accounts; every step of a transfer is a checkpoint. Every run of every continuation, including
// repeated ones, sees the correct sum.
TEST_P(checkpoints_test, keep_a_sum) {
    constexpr std::size_t accounts = 6;
    const std::size_t each = rounds(1000);
    std::array<var<long>, accounts> bank{};
    violations wrong_sums;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            var<long>& from = bank[dice.below(accounts)];
            var<long>& to = bank[dice.below(accounts)];
            const bool audits = dice.one_in(4);
            run(mine, [&](tx& t) {
                if (audits) {
                    const long first = bank[0].get(t);
                    checkpoint(t, [&](tx& c) {
                        long sum = first;
                        for (std::size_t a = 1; a < accounts; ++a) sum += bank[a].get(c);
                        wrong_sums.expect(sum == 0);
                    });
                    return;
                }
                from.set(t, from.get(t) - 1);
                checkpoint(t, [&](tx& c) { to.set(c, to.get(c) + 1); });
            });
        }
    });
    long sum = 0;
    for (auto& a : bank) sum += a.load();
    EXPECT_EQ(sum, 0);
    EXPECT_EQ(wrong_sums.count(), 0);
}

// Two transactions take the same orecs in opposite order, with a checkpoint before each orec.
TEST_P(checkpoints_test, make_progress_in_opposite_order) {
    const std::size_t each = rounds(1000);
    var<long> left{0}, right{0};
    run_threads(2, [&](unsigned me) {
        var<long>& first = me == 0 ? left : right;
        var<long>& second = me == 0 ? right : left;
        for (std::size_t i = 0; i < each; ++i) {
            run(GetParam().of(me), [&](tx& t) {
                checkpoint(t, [&](tx& c) {
                    first.set(c, first.get(c) + 1);
                    checkpoint(c, [&](tx& d) { second.set(d, second.get(d) + 1); });
                });
            });
            run(GetParam().of(me), [&](tx& t) {
                first.set(t, first.get(t) + 1);
                checkpoint(t, [&](tx& c) { second.set(c, second.get(c) + 1); });
            });
        }
    });
    EXPECT_EQ(left.load(), static_cast<long>(4 * each));
    EXPECT_EQ(right.load(), static_cast<long>(4 * each));
}

TUTTI_IN_EVERY_FLAVOUR(checkpoints_test);

class checkpoint_conflicts_test : public suite {};

// If one transaction runs at a time, it never has a reason to go back.
TEST_F(checkpoint_conflicts_test, do_not_occur_without_concurrency) {
    if (concurrent()) GTEST_SKIP() << "for algorithms that run one transaction at a time";
    const std::size_t each = rounds(500);
    var<long> counter{0};
    std::atomic<std::size_t> before{0}, after{0};
    run_threads(4, [&](unsigned) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                ++before;
                const long seen = counter.get(t);
                checkpoint(t, [&](tx& c) {
                    ++after;
                    counter.set(c, seen + 1);
                });
            });
        }
    });
    EXPECT_EQ(counter.load(), static_cast<long>(4 * each));
    EXPECT_EQ(before, 4 * each);
    EXPECT_EQ(after, 4 * each);
}

// An orec is busy. A transaction that holds other orecs goes back to the point where it held none, and waits there.
TEST_F(checkpoint_conflicts_test, roll_back_to_where_nothing_was_owned) {
    if (!locks_at_once()) GTEST_SKIP() << "needs orecs that are locked at the first write";
    var<int> early{0}, first{0}, busy{0};
    holder other{busy, true};
    int before = 0, outer = 0, inner = 0;
    atomically([&](tx& t) {
        ++before;
        (void)early.get(t);
        checkpoint(t, [&](tx& c) {
            ++outer;
            first.set(c, first.get(c) + 1);
            c.on_abort([&](abort_cause why) {
                EXPECT_EQ(why, abort_cause::conflict_write_locked);
                std::jthread{[&] { (void)first.load(); }}.join();  // the orec is free
                other.release();
            });
            checkpoint(c, [&](tx& d) {
                ++inner;
                busy.set(d, 5);
            });
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(outer, 2);
    EXPECT_EQ(inner, 2);
    EXPECT_EQ(first.load(), 1);
    EXPECT_EQ(busy.load(), 5);
}

TEST_F(checkpoint_conflicts_test, restart_if_the_first_part_owns_something) {
    if (!locks_at_once()) GTEST_SKIP() << "needs orecs that are locked at the first write";
    var<int> first{0}, busy{0};
    holder other{busy, true};
    int before = 0, after = 0;
    atomically([&](tx& t) {
        ++before;
        first.set(t, first.get(t) + 1);
        t.on_abort([&] { other.release(); });
        checkpoint(t, [&](tx& c) {
            ++after;
            busy.set(c, busy.get(c) + 1);
        });
    });
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(busy.load(), 1001);
}

TEST_F(checkpoint_conflicts_test, roll_a_visible_transaction_back_as_a_whole) {
    if (!locks_at_once()) GTEST_SKIP() << "needs orecs that are locked at the first write";
    var<int> first{0}, busy{0};
    holder other{busy, true};
    int before = 0, after = 0;
    atomically({.mode = mode::visible}, [&](tx& t) {
        ++before;
        t.on_abort([&] { other.release(); });
        checkpoint(t, [&](tx& c) {
            ++after;
            first.set(c, first.get(c) + 1);
            busy.set(c, 5);
        });
    });
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(busy.load(), 5);
}

// An irrevocable transaction wins every conflict.
TEST_F(checkpoint_conflicts_test, do_not_touch_an_irrevocable_transaction) {
    if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    const std::size_t each = rounds(200);
    var<long> x{0}, y{0};
    std::atomic<bool> done{false};
    std::size_t before = 0, after = 0;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                atomically({.mode = mode::irrevocable}, [&](tx& t) {
                    ++before;
                    x.set(t, x.get(t) + 1);
                    checkpoint(t, [&](tx& c) {
                        ++after;
                        y.set(c, y.get(c) + 1);
                    });
                });
            }
            done = true;
        } else {
            while (!done.load()) {
                atomically([&](tx& t) {
                    y.set(t, y.get(t) + 1);
                    checkpoint(t, [&](tx& c) { x.set(c, x.get(c) + 1); });
                });
            }
        }
    });
    EXPECT_EQ(before, each);
    EXPECT_EQ(after, each);
    EXPECT_EQ(x.load(), y.load());
}

// During the roll-back for a busy orec, a destructor of the continuation reads a value newer than the snapshot. That
// read extends the snapshot. The repeated continuation must be able to read the same value.
TEST_F(checkpoint_conflicts_test, do_not_disturb_reads_of_destructors) {
    if (!locks_at_once()) GTEST_SKIP() << "needs orecs that are locked at the first write";
    struct reader {
        tx& t;
        var<int>& newer;
        holder& other;
        bool first_run;
        ~reader() {
            if (!first_run) return;
            (void)newer.get(t);
            other.release();
        }
    };
    var<int> newer{0}, first{0}, busy{0};
    holder other{busy, false};
    int before = 0, after = 0;
    atomically([&](tx& t) {
        ++before;
        checkpoint(t, [&](tx& c) {
            ++after;
            const reader last{c, newer, other, after == 1};
            if (after == 1) std::jthread{[&] { newer.store(7); }}.join();
            else EXPECT_EQ(newer.get(c), 7);
            first.set(c, 1);
            busy.set(c, 1);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(busy.load(), 1);
}

}  // namespace
}  // namespace tutti::anomalies
