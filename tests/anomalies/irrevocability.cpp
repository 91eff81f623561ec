// A block that was promised to run once runs twice, does not run, or runs on a state that another transaction has
// changed.
//
// Catches a switch that does not validate earlier reads, and a token that two transactions can hold. Catches a conflict
// manager that kills the holder, and a late switch that drops earlier writes.
#include <cstring>

#include "anomalies/flavour.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

class irrevocability_test : public suite {};

// Counts effects outside the transaction: one for each block, under a storm of conflicting writers.
TEST_F(irrevocability_test, runs_effects_once) {
    const std::size_t each = rounds(200);
    std::array<var<long>, 3> data{};
    std::array<std::atomic<long>, 2> effects{};
    std::atomic<unsigned> running{2};
    violations wrong;
    run_threads(5, [&](unsigned me) {
        if (me < 2) {
            for (std::size_t i = 0; i < each; ++i) {
                const bool late = i % 2 == 0;
                atomically({.mode = late ? mode::optimistic : mode::irrevocable}, [&](tx& t) {
                    const long before = data[0].get(t);
                    if (late) {
                        data[1].set(t, data[1].get(t) + 1);
                        t.become_irrevocable("test");
                    } else {
                        wrong.expect(t.attempt() == 1);
                    }
                    wrong.expect(t.irrevocable());
                    effects[me].fetch_add(1);
                    wrong.expect(data[0].get(t) == before);  // the read from before the switch is still current
                    data[0].set(t, before + 1);
                    if (!late) data[1].set(t, data[1].get(t) + 1);
                    data[2].set(t, data[2].get(t) + 1);
                });
            }
            --running;
        } else {
            while (running.load() != 0) {
                atomically([&](tx& t) {
                    for (auto& v : data) v.set(t, v.get(t) + 1);
                });
                atomically({.read_only = true}, [&](tx& t) {
                    wrong.expect(data[0].get(t) == data[1].get(t) && data[1].get(t) == data[2].get(t));
                });
            }
        }
    });
    EXPECT_EQ(effects[0], static_cast<long>(each));
    EXPECT_EQ(effects[1], static_cast<long>(each));
    EXPECT_EQ(wrong.count(), 0);
}

// Several blocks request irrevocability at the same time, after they have read data that the other blocks are about to
// change.
TEST_F(irrevocability_test, serves_several_requests_at_once) {
    const std::size_t each = rounds(200);
    var<long> shared_total{0};
    std::atomic<int> holders{0};
    std::atomic<long> effects{0};
    violations two;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                const long seen = shared_total.get(t);
                t.become_irrevocable();
                if (me % 2 == 0) t.become_irrevocable("again");  // idempotent
                two.expect(holders.fetch_add(1) == 0);
                ++effects;
                shared_total.set(t, seen + 1);
                two.expect(holders.fetch_sub(1) == 1);
            });
        }
    });
    EXPECT_EQ(two.count(), 0);
    EXPECT_EQ(effects, static_cast<long>(4 * each));
    EXPECT_EQ(shared_total.load(), static_cast<long>(4 * each));
}

// A nested block may switch; the reads and writes of the outer block before the switch are part of it.
TEST_F(irrevocability_test, works_in_a_nested_block) {
    const std::size_t each = rounds(120);
    var<long> total{0};
    std::atomic<long> effects{0};
    run_threads(3, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                total.set(t, total.get(t) + 1);
                if (me == 0) return;
                atomically([&](tx& inner) {
                    inner.become_irrevocable("nested");
                    ++effects;
                });
                if (!t.irrevocable()) effects += 1'000'000;
            });
        }
    });
    EXPECT_EQ(total.load(), static_cast<long>(3 * each));
    EXPECT_EQ(effects, static_cast<long>(2 * each));
}

// Other transactions cannot abort the block, but the block can abort itself.
TEST_F(irrevocability_test, lets_the_block_cancel_and_throw) {
    struct refusal {};
    var<std::string> text{"before"};
    var<long> number{1};
    std::uint32_t plain = 7;
    for (const bool late : {false, true}) {
        for (const bool throws : {false, true}) {
            const auto body = [&](tx& t) {
                number.set(t, 2);
                store(t, &plain, 8);
                if (late) t.become_irrevocable();
                text.set(t, "during");
                number.set(t, 3);
                store(t, &plain, 9);
                EXPECT_EQ(text.get(t), "during");
                if (throws) throw refusal{};
                cancel(t);
            };
            const options how{.mode = late ? mode::optimistic : mode::irrevocable};
            if (throws) EXPECT_THROW(atomically(how, body), refusal);
            else EXPECT_THROW(atomically(how, body), cancelled);
            EXPECT_EQ(text.load(), "before");
            EXPECT_EQ(number.load(), 1);
            EXPECT_EQ(plain, 7u);
            // The token is free again, even for other threads.
            run_threads(2, [&](unsigned) { atomically({.mode = mode::irrevocable}, [](tx&) {}); });
        }
    }
}

// While an irrevocable block waits in its body, a reader commits, and so does a writer of other data.
TEST_F(irrevocability_test, lets_others_proceed) {
    if (!concurrent() || commits_one_by_one()) GTEST_SKIP() << "writers exclude each other under " << algorithm();
    for (const bool late : {false, true}) {
        var<long> mine{0}, theirs{0};
        std::atomic<int> stage{0};
        run_threads(2, [&](unsigned me) {
            if (me == 0) {
                atomically({.mode = late ? mode::optimistic : mode::irrevocable}, [&](tx& t) {
                    if (late) t.become_irrevocable();
                    mine.set(t, 1);
                    stage = 1;
                    while (stage.load() != 2) std::this_thread::yield();
                    mine.set(t, mine.get(t) + 1);
                });
            } else {
                while (stage.load() != 1) std::this_thread::yield();
                for (int i = 0; i < 100; ++i) {
                    atomically([&](tx& t) { theirs.set(t, theirs.get(t) + 1); });
                    atomically({.read_only = true}, [&](tx& t) { return theirs.get(t); });
                }
                stage = 2;
            }
        });
        EXPECT_EQ(mine.load(), 2);
        EXPECT_EQ(theirs.load(), 100);
    }
}

// Handlers, allocation and destruction work as in any other block.
TEST_F(irrevocability_test, supports_everything_that_other_blocks_support) {
    std::string trace;
    var<std::string> text{"a"};
    var<std::string*> object{nullptr};
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        t.before_commit([&](tx& last) {
            text.set(last, text.get(last) + "c");
            trace += '1';
        });
        t.at_commit([&] { trace += '2'; });
        t.on_commit([&] { trace += '3'; });
        object.set(t, create<std::string>(t, "made"));
        text.set(t, text.get(t) + "b");
        EXPECT_FALSE(try_atomically([&](tx& c) {
            text.set(c, "gone");
            cancel(c);
        }));
    });
    EXPECT_EQ(trace, "123");
    EXPECT_EQ(text.load(), "abc");
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        EXPECT_EQ(*object.get(t), "made");
        destroy(t, object.get(t));
        object.set(t, nullptr);
    });
}

}  // namespace
}  // namespace tutti::anomalies
