// Leftovers of a partial roll-back: effects of a continuation that runs again, or that ends in another way.
//
// Catches a roll-back that forgets handlers, participants, objects, locks or locals, one that a body can swallow, and
// one that throws out of a destructor.
#include <functional>

#include "anomalies/partial_roll_back.hpp"
#include "support/heap.hpp"

namespace tutti::anomalies {
namespace {

struct refusal {};

// The continuation's write is rolled back: another transaction can write the variable before this one ends.
TEST_F(partial_roll_back_test, releases_what_the_continuation_owned) {
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

TEST_F(partial_roll_back_test, runs_handlers_of_the_last_run_only) {
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

// Every run except the last makes, replaces and removes objects. Afterwards there must be as many objects as before.
TEST_F(partial_roll_back_test, leaves_no_objects_behind) {
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

TEST_F(partial_roll_back_test, runs_destructors_of_locals) {
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

// The next access of a body that catches everything raises the roll-back again.
TEST_F(partial_roll_back_test, is_raised_again_if_it_was_swallowed) {
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

// The second run leaves in its own way, which affects only the continuation. The parent keeps its own state.
TEST_F(partial_roll_back_test, is_dropped_if_the_continuation_ends_otherwise) {
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
    // A cancel that no block handles rolls back the whole transaction.
    EXPECT_THROW(atomically([&](tx& t) {
                     own.set(t, 1000);
                     checkpoint(t, [](tx& c) { cancel(c); });
                 }),
                 cancelled);
    EXPECT_EQ(own.load(), 2 + late.load());
}

// While an exception runs a destructor, an access in the destructor cannot go back to the checkpoint. No second
// exception may leave the destructor, whichever barrier finds the conflict.
TEST_F(partial_roll_back_test, waits_until_destructors_have_run) {
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
        // Both outcomes are allowed. Either the exception leaves the transaction, or the conflict is found and
        // everything runs again.
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
