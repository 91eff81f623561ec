// Partial roll-back that goes not far enough, too far, or leaves something behind.
//
// Catches a roll-back that keeps a read that has become invalid, one that repeats what came before the checkpoint, one
// that forgets what a repeated continuation left (handlers, objects, locks, locals), a way back that is looked for in a
// mode without one, and a conflict that goes back to the same checkpoint for ever.
//
// Conflicts are provoked at a known point: the first run of a continuation has another thread commit a change of what
// it read and then reads something else that the same commit changed, so that it cannot but look at what it read.
#include <functional>

#include "anomalies/flavour.hpp"
#include "support/heap.hpp"

namespace tutti::anomalies {
namespace {

struct refusal {};

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
    /// A read that finds out whether somebody has overtaken the transaction.
    int notice(tx& t) { return latest_.get(t); }

    static constexpr options impatient{.privatization = privatization::waived};
    var<int> early{0}, late{0}, own{0};
    int before = 0, after = 0;  // runs of what comes before the checkpoint, and of its continuation

private:
    var<int> latest_{0};
};

TEST_F(partial_roll_back, repeats_the_continuation_alone) {
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

// What the continuation had written is free again: another transaction can write it before this one ends.
TEST_F(partial_roll_back, gives_back_what_the_continuation_owned) {
    var<int> taken{0};
    std::uint64_t plain = 5;
    atomically([&](tx& t) {
        ++before;
        own.set(t, 1);
        checkpoint(t, [&](tx& c) {
            ++after;
            (void)late.get(c);
            if (after == 1) {
                taken.set(c, 100);
                store(c, &plain, 100u);
                overtake(late);
            } else {
                elsewhere([&] { atomically(impatient, [&](tx& other) { taken.set(other, 7); }); });
                EXPECT_EQ(taken.get(c), 7);
                EXPECT_EQ(load(c, &plain), 5u);
            }
            (void)notice(c);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(taken.load(), 7);
    EXPECT_EQ(plain, 5u);
    EXPECT_EQ(own.load(), 1);
}

TEST_F(partial_roll_back, of_a_conflict_before_the_checkpoint_repeats_everything) {
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

// Nothing is read after the change: it comes to light when the continuation ends, and not only at commit.
TEST_F(partial_roll_back, of_a_conflict_found_at_the_close) {
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

TEST_F(partial_roll_back, of_an_ordinary_nested_block) {
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

// Every level reads something of its own; for each of them in turn the deepest one finds that it has changed.
TEST_F(partial_roll_back, goes_back_to_the_right_one_of_many) {
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

TEST_F(partial_roll_back, of_alternatives) {
    int first = 0, second = 0;
    // The second alternative is the first to read what changes: it alone runs again.
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
    // Now it is the first one, whose reads count although it gave way: the choice is made again.
    EXPECT_EQ(choose(true), 1);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
}

TEST_F(partial_roll_back, runs_handlers_of_the_last_run_only) {
    struct witness final : participant {
        vote prepare() override { return ++asked, vote::commit; }
        void commit() noexcept override { ++told; }
        void abort() noexcept override { ++refused; }
        int asked = 0, told = 0, refused = 0;
    } party;
    std::string trace;
    atomically([&](tx& t) {
        ++before;
        t.on_abort([&] { trace += 'x'; });
        t.on_commit([&] { trace += 'C'; });
        checkpoint(t, [&](tx& c) {
            ++after;
            c.join(party);
            c.before_commit([&] { trace += '1'; });
            c.at_commit([&] { trace += '2'; });
            c.on_commit([&] { trace += '3'; });
            c.on_abort([&](abort_cause why) { trace += why == abort_cause::validation ? 'v' : '?'; });
            c.on_abort([&] { trace += 'a'; });
            (void)late.get(c);
            if (after <= 2) overtake(late);
            (void)notice(c);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 3);
    EXPECT_EQ(trace, "avav12C3");
    EXPECT_EQ(party.asked, 1);
    EXPECT_EQ(party.told, 1);
    EXPECT_EQ(party.refused, 0);
}

// Every run but the last makes, replaces and removes objects, so that afterwards there must be as many as before.
TEST_F(partial_roll_back, leaves_no_objects_behind) {
    struct counted {
        explicit counted(int* n) : alive{n} { ++*alive; }
        counted(const counted&) = delete;
        ~counted() { --*alive; }
        int* alive;
        var<int> value{1};
        var<std::string> text{"too long a text to be kept in the string itself"};
    };
    int alive = 0;
    counted kept{&alive};
    auto* const doomed = new counted{&alive};
    var<counted*> link{nullptr};
    const auto once = [&] {
        after = 0;
        atomically([&](tx& t) {
            link.set(t, nullptr);
            checkpoint(t, [&](tx& c) {
                ++after;
                EXPECT_EQ(alive, 2);
                (void)late.get(c);
                if (after == 4) return;
                link.set(c, create<counted>(c, &alive));
                link.get(c)->value.set(c, 2);
                link.get(c)->text.set(c, "another text that is too long for the string itself");
                kept.text.set(c, "one more text that is too long for the string itself");
                atomically([&](tx& inner) { (void)create<counted>(inner, &alive); });
                destroy(c, doomed);
                EXPECT_EQ(alive, 4);
                overtake(late);
                (void)notice(c);
            });
        });
        EXPECT_EQ(after, 4);
        EXPECT_EQ(alive, 2);
        EXPECT_EQ(link.load(), nullptr);
    };
    for (int i = 0; i < 8; ++i) once();
    const std::int64_t blocks = support::live_blocks;
    const std::size_t often = rounds(100);
    for (std::size_t i = 0; i < often; ++i) once();
    EXPECT_LE(support::live_blocks - blocks, 4);
    delete doomed;
}

TEST_F(partial_roll_back, runs_destructors_of_locals) {
    int open = 0;
    struct guard {
        explicit guard(int& count) : open{count} { ++open; }
        ~guard() { --open; }
        int& open;
    };
    atomically([&](tx& t) {
        const guard one{open};
        checkpoint(t, [&](tx& c) {
            ++after;
            EXPECT_EQ(open, 1);
            const guard two{open};
            (void)late.get(c);
            atomically([&](tx& inner) {
                const guard three{open};
                if (after == 1) overtake(late);
                (void)notice(inner);
            });
        });
    });
    EXPECT_EQ(after, 2);
    EXPECT_EQ(open, 0);
}

// A body that catches everything meets the roll-back again at its next access.
TEST_F(partial_roll_back, comes_back_when_it_was_swallowed) {
    int beyond = 0;
    atomically([&](tx& t) {
        ++before;
        checkpoint(t, [&](tx& c) {
            ++after;
            (void)late.get(c);
            if (after > 1) return;
            overtake(late);
            try {
                (void)notice(c);
            } catch (...) {
                own.set(c, 1000);
            }
            ++beyond;
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(beyond, 0);
    EXPECT_EQ(own.load(), 0);
}

// The second run leaves in its own way, which is the continuation's alone: the parent goes on with what it had.
TEST_F(partial_roll_back, is_forgotten_when_the_continuation_ends_otherwise) {
    const auto leave = [&](auto how) {
        before = after = 0;
        own.store(0);
        bool refused = false;
        atomically([&](tx& t) {
            ++before;
            own.set(t, 1);
            try {
                checkpoint(t, [&](tx& c) {
                    ++after;
                    own.set(c, 2 + late.get(c));
                    if (after == 1) overtake(late);
                    (void)notice(c);
                    how(c);
                });
            } catch (const refusal&) {
                refused = true;
            } catch (const cancelled&) {
                refused = true;
            }
            EXPECT_EQ(own.get(t), refused ? 1 : 2 + late.get(t));
        });
        EXPECT_EQ(before, 1);
        return refused;
    };
    EXPECT_TRUE(leave([](tx&) { throw refusal{}; }));
    EXPECT_EQ(after, 2);
    EXPECT_TRUE(leave([](tx& c) { cancel(c); }));
    EXPECT_EQ(after, 2);
    EXPECT_FALSE(leave([&](tx& c) {
        if (after < 5) restart(c);
    }));
    EXPECT_EQ(after, 5);
    // A cancel that nobody handles rolls back the whole transaction.
    EXPECT_THROW(atomically([&](tx& t) {
                     own.set(t, 1000);
                     checkpoint(t, [](tx& c) { cancel(c); });
                 }),
                 cancelled);
    EXPECT_EQ(own.load(), 2 + late.load());
}

TEST_F(partial_roll_back, before_a_retry_that_waits_for_both_halves) {
    std::atomic<int> tries{0};
    crew(2, [&](unsigned me) {
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

// What is kept may be what makes it fail, so after 64 times the whole transaction starts over.
TEST_F(partial_roll_back, does_not_go_on_for_ever) {
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

// A switch of the mode needs all reads to be current, and from then on there is no way back but to the beginning.
TEST_F(partial_roll_back, is_none_when_the_mode_changes) {
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

// An access in a destructor that runs because of an exception cannot go back anywhere; it must not be left by another
// exception, whichever barrier finds the conflict.
TEST_F(partial_roll_back, waits_until_destructors_have_run) {
    struct access {
        std::function<void()> at_the_end;
        ~access() { at_the_end(); }
    };
    enum class what { reads, runs_a_block_that_reads, runs_an_empty_block };
    for (const what it : {what::reads, what::runs_a_block_that_reads, what::runs_an_empty_block}) {
        before = after = 0;
        const auto attempt = [&] {
            atomically([&](tx& t) {
                ++before;
                checkpoint(t, [&](tx& c) {
                    ++after;
                    const access last{[&] {
                        if (it == what::reads) return void(notice(c));
                        checkpoint(c, [&](tx& d) {
                            if (it == what::runs_a_block_that_reads) (void)notice(d);
                        });
                    }};
                    own.set(c, late.get(c));
                    if (before == 1) overtake(late);
                    if (before == 1) throw refusal{};
                });
            });
        };
        // Both are allowed: the exception leaves with what was seen, or the conflict was found and all runs again.
        try {
            attempt();
            EXPECT_EQ(before, 2);
        } catch (const refusal&) {
            EXPECT_EQ(before, 1);
        }
        attempt();
        EXPECT_EQ(own.load(), late.load());
    }
}

}  // namespace
}  // namespace tutti::anomalies
