// Lost wake-up: a transaction that waits with `retry` keeps sleeping although the awaited change has happened. The test
// then hangs, and the watchdog reports it.
//
// Catches an engine that checks the read set only before it registers as a waiter, and one that forgets the reads of
// other alternatives of or_else. Catches a way of writing that does not wake, and a woken member of a group that does
// not wake the next.
#include "anomalies/flavour.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class lost_wake_up_test : public suite_of_flavours {};

// One slot, passed back and forth: in each round, two wake-ups can be lost.
TEST_P(lost_wake_up_test, does_not_occur_in_ping_pong) {
    const std::size_t each = rounds(180);
    var<int> turn{0};
    run_threads(2, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            run(GetParam(), [&](tx& t) {
                if (turn.get(t) != static_cast<int>(me)) retry(t);
                turn.set(t, 1 - static_cast<int>(me));
            });
        }
    });
    EXPECT_EQ(turn.load(), 0);
}

// Many threads on both sides of a bounded buffer.
TEST_P(lost_wake_up_test, does_not_occur_in_a_bounded_buffer) {
    const std::size_t each = rounds(100);
    constexpr long capacity = 3;
    var<long> filled{0}, put{0}, taken{0};
    run_threads(8, [&](unsigned me) {
        const bool producer = me % 2 == 0;
        for (std::size_t i = 0; i < each; ++i) {
            run(GetParam(), [&](tx& t) {
                const long now = filled.get(t);
                if (producer ? now == capacity : now == 0) retry(t);
                filled.set(t, producer ? now + 1 : now - 1);
                var<long>& total = producer ? put : taken;
                total.set(t, total.get(t) + 1);
            });
        }
    });
    EXPECT_EQ(filled.load(), 0);
    EXPECT_EQ(put.load(), static_cast<long>(4 * each));
    EXPECT_EQ(taken.load(), static_cast<long>(4 * each));
}

// Every way of writing has to wake.
TEST_P(lost_wake_up_test, does_not_occur_for_any_kind_of_write) {
    const std::size_t each = rounds(10);
    constexpr unsigned ways = 8;
    var<long> signal{0}, heard{0};
    std::uint64_t plain = 0;
    run_threads(2, [&](unsigned me) {
        for (std::size_t i = 0; i < each * ways; ++i) {
            const auto round = static_cast<long>(i + 1);
            if (me == 0) {
                run(GetParam(), {.privatization = privatization::waived}, [&](tx& t) {
                    if (signal.get(t) < round && load(t, &plain) < static_cast<std::uint64_t>(round)) retry(t);
                });
                heard.store(round);
                continue;
            }
            switch (i % ways) {
                case 0: signal.store(round); break;
                case 1: atomically([&](tx& t) { store(t, &plain, static_cast<std::uint64_t>(round)); }); break;
                case 2: atomically({.mode = mode::visible}, [&](tx& t) { signal.set(t, round); }); break;
                case 3: atomically({.mode = mode::irrevocable}, [&](tx& t) { signal.set(t, round); }); break;
                case 4: atomically(no_unwind, [&](tx& t) { signal.set(t, round); }); break;
                case 5: atomically([&](tx& t) { t.on_commit([&] { signal.store(round); }); }); break;
                case 6: atomically([&](tx&) { atomically([&](tx& t) { signal.set(t, round); }); }); break;
                default: atomically([&](tx& t) { t.before_commit([&](tx& last) { signal.set(last, round); }); });
            }
            run(GetParam(), [&](tx& t) {  // repeats until the write was noticed
                if (heard.get(t) < round) retry(t);
            });
        }
    });
    EXPECT_EQ(heard.load(), static_cast<long>(each * ways));
}

// A retry in any alternative waits for all of them. In each round, another branch changes, or a read from before the
// branches.
TEST_P(lost_wake_up_test, does_not_occur_for_any_alternative) {
    const std::size_t each = rounds(100);
    std::array<var<long>, 4> doors{};
    var<long> answered{0};
    run_threads(2, [&](unsigned me) {
        support::random dice{7};
        for (std::size_t i = 1; i <= each; ++i) {
            const auto round = static_cast<long>(i);
            if (me == 0) {
                const auto wait_at = [&](unsigned door) {
                    return [&, door](tx& t) {
                        if (doors[door].get(t) < round) retry(t);
                        return door;
                    };
                };
                run(unwinding(), [&](tx& t) {
                    if (doors[3].get(t) >= round) return 3u;
                    return or_else(t, wait_at(0), wait_at(1), wait_at(2));
                });
                answered.store(round);
            } else {
                doors[dice.below(doors.size())].store(round);
                run(unwinding(), [&](tx& t) {
                    if (answered.get(t) < round) retry(t);
                });
            }
        }
    });
    EXPECT_EQ(answered.load(), static_cast<long>(each));
}

// One commit wakes many sleepers. A sleeper that has read many variables is woken by a change of any of them.
TEST_P(lost_wake_up_test, does_not_occur_for_one_of_many) {
    const std::size_t each = rounds(15);
    constexpr unsigned sleepers = 6;
    std::vector<var<long>> many(100);
    var<long> gate{0};
    std::array<var<long>, sleepers> passed{};
    run_threads(sleepers + 1, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 1; i <= each; ++i) {
            const auto round = static_cast<long>(i);
            if (me < sleepers) {
                run(GetParam(), [&](tx& t) {
                    if (gate.get(t) < round) retry(t);
                });
                passed[me].store(round);
                run(GetParam(), [&](tx& t) {
                    bool any = false;
                    for (auto& v : many) any |= v.get(t) >= round;
                    if (!any) retry(t);
                });
                passed[me].store(-round);
            } else {
                const auto wait_for_all = [&](long value) {
                    run(GetParam(), [&](tx& t) {
                        for (auto& p : passed) {
                            if (p.get(t) != value) retry(t);
                        }
                    });
                };
                gate.store(round);
                wait_for_all(round);
                many[dice.below(many.size())].store(round);
                wait_for_all(-round);
            }
        }
    });
    EXPECT_EQ(gate.load(), static_cast<long>(each));
}

// Many threads take turns at one word, so only one of all woken threads can continue.
TEST_P(lost_wake_up_test, does_not_occur_in_a_crowd_taking_turns) {
    const std::size_t each = rounds(20);
    constexpr unsigned size = 24;
    var<std::size_t> turn{0};
    run_threads(size, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            run(GetParam(), [&](tx& t) {
                const std::size_t now = turn.get(t);
                if (now % size != me) retry(t);
                turn.set(t, now + 1);
            });
        }
    });
    EXPECT_EQ(turn.load(), each * size);
}

// All threads wait for one word. The first one to wake leaves in some other way, keeps waiting for another word, or is
// late.
TEST_P(lost_wake_up_test, does_not_occur_in_a_shrinking_crowd) {
    struct refusal {};
    const std::size_t each = rounds(20);
    constexpr unsigned size = 15;
    var<long> gate{0}, second{0}, passed{0};
    run_threads(size + 1, [&](unsigned me) {
        for (std::size_t i = 1; i <= each; ++i) {
            const auto round = static_cast<long>(i);
            if (me == size) {
                gate.store(round);
                second.store(round);
                run(GetParam(), [&](tx& t) {
                    if (passed.get(t) != round * size) retry(t);
                });
                continue;
            }
            switch ((me + i) % 5) {
                case 0:
                    EXPECT_THROW(run(unwinding(),
                                     [&](tx& t) {
                                         if (gate.get(t) < round) retry(t);
                                         throw refusal{};
                                     }),
                                 refusal);
                    break;
                case 1:
                    EXPECT_FALSE(try_atomically([&](tx& t) {
                        if (gate.get(t) < round) retry(t);
                        cancel(t);
                    }));
                    break;
                case 2:
                    for (bool late = true; late;) {
                        late = run(GetParam(), [&](tx& t) {
                            const bool closed = gate.get(t) < round;
                            if (closed) retry_for(t, microseconds{50});
                            return closed;
                        });
                    }
                    break;
                case 3:
                    run(GetParam(), [&](tx& t) {
                        if (gate.get(t) < round || second.get(t) < round) retry(t);
                    });
                    break;
                default:
                    run(GetParam(), [&](tx& t) {
                        if (gate.get(t) < round) retry(t);
                    });
            }
            atomically([&](tx& t) { passed.set(t, passed.get(t) + 1); });
        }
    });
    EXPECT_EQ(passed.load(), static_cast<long>(each) * size);
}

// A wait with a limit ends by a change or by the limit, and a race between both loses nothing.
TEST_P(lost_wake_up_test, does_not_occur_with_a_limit) {
    const std::size_t each = rounds(50);
    var<int> turn{0};
    std::atomic<std::size_t> timeouts{0};
    run_threads(2, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < each;) {
            const microseconds limit{dice.below(300)};
            const bool mine = run(GetParam(), [&](tx& t) {
                if (turn.get(t) != static_cast<int>(me)) {
                    retry_for(t, limit);
                    return false;
                }
                turn.set(t, 1 - static_cast<int>(me));
                return true;
            });
            if (mine) ++i;
            else ++timeouts;
        }
    });
    EXPECT_EQ(turn.load(), 0);
}

TUTTI_IN_REVOCABLE_FLAVOURS(lost_wake_up_test);

}  // namespace
}  // namespace tutti::anomalies
