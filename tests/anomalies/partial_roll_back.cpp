// Partial roll-back that goes not far enough, too far, or back forever.
//
// Catches a roll-back that keeps a stale read, or that repeats code from before the checkpoint. Catches a search for a
// checkpoint in a mode without one, and a conflict that goes back to the same checkpoint forever.
#include "anomalies/partial_roll_back.hpp"

namespace tutti::anomalies {
namespace {

TEST_F(partial_roll_back_test, repeats_the_continuation_alone) {
    const int seen = atomically([&](tx& t) {
        ++before;
        own.set(t, early.get(t) + 1);
        return checkpoint(t, [&](tx& c) {
            ++after;
            EXPECT_EQ(c.attempt(), 1u);
            EXPECT_EQ(own.get(c), 1);
            const int found = late.get(c);
            own.set(c, 10 + found);
            if (after == 1) overtake(late);
            (void)notice(c);
            return found;
        });
    });
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(own.load(), 11);
}

TEST_F(partial_roll_back_test, repeats_everything_after_an_earlier_conflict) {
    for (const bool both : {false, true}) {
        before = after = 0;
        atomically([&](tx& t) {
            ++before;
            const int first = early.get(t);
            EXPECT_EQ(t.attempt(), static_cast<unsigned>(before));
            checkpoint(t, [&](tx& c) {
                ++after;
                (void)late.get(c);
                if (after == 1) {
                    if (both) late.store(late.load() + 1);
                    overtake(early);
                }
                (void)notice(c);
                own.set(c, first);
            });
        });
        EXPECT_EQ(before, 2);
        EXPECT_EQ(after, 2);
        EXPECT_EQ(own.load(), early.load());
    }
}

// No read follows the change. The continuation finds the change at its own end, and not only at commit.
TEST_F(partial_roll_back_test, handles_a_conflict_at_a_blocks_end) {
    atomically([&](tx& t) {
        ++before;
        own.set(t, early.get(t) + 1);
        checkpoint(t, [&](tx& c) {
            ++after;
            own.set(c, 10 + late.get(c));
            if (after == 1) overtake(late);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(own.load(), 11);
}

TEST_F(partial_roll_back_test, handles_an_ordinary_nested_block) {
    int next = 0;
    atomically([&](tx& t) {
        ++before;
        (void)early.get(t);
        atomically([&](tx& c) {
            ++after;
            (void)late.get(c);
            if (after == 1) overtake(late);
            (void)notice(c);
        });
        ++next;
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(next, 1);
}

// A participant may have shown the outer blocks data that was current with the old snapshot.
TEST_F(partial_roll_back_test, notifies_participants_of_the_new_snapshot) {
    struct listener final : participant {
        int told = 0;
        bool on_snapshot_extended() override {
            ++told;
            return true;
        }
        vote prepare() override { return vote::commit; }
        void commit() noexcept override {}
        void abort() noexcept override {}
    } shows;
    int told_before = 0;
    atomically([&](tx& t) {
        ++before;
        t.join(shows);
        checkpoint(t, [&](tx& c) {
            if (++after == 2) {
                EXPECT_GT(shows.told, told_before);
            }
            (void)late.get(c);
            if (after == 1) overtake(late);
            told_before = shows.told;
            (void)notice(c);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
}

// Every level reads a variable of its own. For each level in turn, the innermost level finds that level's variable
// changed.
TEST_F(partial_roll_back_test, chooses_the_right_checkpoint_of_many) {
    constexpr std::size_t levels = 12;
    for (std::size_t changed = 0; changed < levels; ++changed) {
        std::array<var<int>, levels> data{};
        std::array<int, levels> runs{};
        const auto descend = [&](auto& self, tx& t, std::size_t level) -> int {
            ++runs[level];
            const int here = data[level].get(t);
            if (level + 1 < levels) {
                return here + checkpoint(t, [&](tx& c) { return self(self, c, level + 1); });
            }
            if (runs[level] == 1) overtake(data[changed]);
            (void)notice(t);
            return here;
        };
        EXPECT_EQ(atomically([&](tx& t) { return descend(descend, t, 0); }), 1);
        for (std::size_t level = 0; level < levels; ++level) {
            EXPECT_EQ(runs[level], level < changed ? 1 : 2) << "level " << level << ", changed " << changed;
        }
    }
}

TEST_F(partial_roll_back_test, handles_alternatives) {
    int first = 0, second = 0;
    // The second alternative is the first to read the changed variable, so it alone runs again.
    const auto choose = [&](bool what_the_first_read) {
        first = second = after = before = 0;
        return atomically([&](tx& t) {
            ++before;
            return checkpoint(t, [&](tx& c) {
                ++after;
                return or_else(
                    c,
                    [&](tx& a) {
                        ++first;
                        if (early.get(a) == 0) retry(a);
                        return 1;
                    },
                    [&](tx& a) {
                        ++second;
                        (void)late.get(a);
                        if (second == 1) overtake(what_the_first_read ? early : late);
                        (void)notice(a);
                        return 2;
                    });
            });
        });
    };
    EXPECT_EQ(choose(false), 2);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 1);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
    // Now the first alternative reads the changed variable. Its reads count although it retried, so the choice is made
    // again.
    EXPECT_EQ(choose(true), 1);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
}

TEST_F(partial_roll_back_test, precedes_a_retry_that_waits_for_both_parts) {
    std::atomic<int> tries{0};
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            atomically([&](tx& t) {
                ++before;
                const bool ready = early.get(t) != 0;
                checkpoint(t, [&](tx& c) {
                    ++after;
                    if (late.get(c) != 0 && ready) return;
                    if (after == 1) {
                        own.store(1);  // part of this transaction
                        overtake(late);
                    }
                    (void)notice(c);
                    ++tries;
                    retry(c);
                });
            });
        } else {
            while (tries.load() == 0) std::this_thread::yield();
            early.store(1);
        }
    });
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 3);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(own.load(), 0);
}

// The kept part may cause every failure, so after 64 partial roll-backs the whole transaction starts over.
TEST_F(partial_roll_back_test, ends_after_a_bounded_number_of_repetitions) {
    unsigned attempts = 0;
    atomically([&](tx& t) {
        ++before;
        (void)early.get(t);
        checkpoint(t, [&](tx& c) {
            ++after;
            (void)late.get(c);
            if (before == 1) overtake(late);
            (void)notice(c);
            attempts = c.attempt();
        });
    });
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 64 + 1 + 1);
    EXPECT_EQ(attempts, 2u);
}

// A switch of the mode needs all reads to be current. Afterwards, a roll-back goes to the beginning.
TEST_F(partial_roll_back_test, does_not_occur_at_a_change_of_mode) {
    for (const bool irrevocable : {false, true}) {
        before = after = 0;
        atomically([&](tx& t) {
            ++before;
            checkpoint(t, [&](tx& c) {
                ++after;
                (void)late.get(c);
                if (after == 1) overtake(late);
                if (irrevocable) c.become_irrevocable("test");
                else c.become_visible();
                own.set(c, notice(c));
            });
        });
        EXPECT_EQ(before, 2);
        EXPECT_EQ(after, 2);
    }
}

}  // namespace
}  // namespace tutti::anomalies
