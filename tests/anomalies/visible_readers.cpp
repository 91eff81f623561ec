// A visible reader that a writer overlooks, or that many writers starve.
//
// Catches a writer that checks the lock but not the marks beside it, and a mark of one reader that erases another
// reader's. Catches marks that outlive their transaction, after which the orec can never be written. Catches two
// readers that both want to write and wait for each other.
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/meeting_point.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

constexpr options visibly{.mode = mode::visible};

class visible_readers_test : public suite {};

TEST_F(visible_readers_test, share_one_orec_with_a_writer) {
    const std::size_t each = rounds(750);
    var<long> left{0}, right{0};
    std::atomic<bool> done{false};
    violations torn;
    run_threads(5, [&](unsigned me) {
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                atomically([&](tx& t) {
                    left.set(t, left.get(t) + 1);
                    right.set(t, right.get(t) + 1);
                });
            }
            done = true;
        } else {
            while (!done.load()) {
                atomically(visibly, [&](tx& t) {
                    const long seen = left.get(t);
                    torn.expect(right.get(t) == seen && left.get(t) == seen);
                });
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(left.load(), static_cast<long>(each));
}

class marked_reads_test : public ::testing::WithParamInterface<mode>, public suite {};

// The writer comes between two reads of one attempt. It may wait, or make the reader start over, but must not ignore
// the mark. The reads of an irrevocable reader have no other protection than its marks.
TEST_P(marked_reads_test, exclude_a_writer_between_two_of_them) {
    const std::size_t times = rounds(20);
    var<long> left{0}, right{0};
    std::barrier around{2};
    support::meeting_point marked, written;
    violations torn;
    run_threads(2, [&](unsigned me) {
        for (std::size_t i = 0; i < times; ++i) {
            around.arrive_and_wait();
            if (me == 0) {
                atomically({.mode = GetParam()}, [&](tx& t) {
                    const long seen = left.get(t);
                    marked.meet(0);
                    written.meet(0);
                    torn.expect(right.get(t) == seen);
                });
            } else {
                marked.meet(1);
                atomically([&](tx& t) {
                    left.set(t, left.get(t) + 1);
                    right.set(t, right.get(t) + 1);
                });
                written.meet(1);
            }
            around.arrive_and_wait();
            if (me != 0) continue;
            marked.reset();
            written.reset();
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(left.load(), static_cast<long>(times));
}

INSTANTIATE_TEST_SUITE_P(of, marked_reads_test, ::testing::Values(mode::visible, mode::irrevocable),
                         [](const auto& it) { return it.param == mode::visible ? "visible" : "irrevocable"; });

// The purpose of visible readers: a long reader commits during a storm of short writers. It may need several attempts,
// but must commit while the storm continues; the writers stop only when the readers are done.
TEST_F(visible_readers_test, commit_beside_many_writers) {
    const std::size_t reads = rounds(10);
    std::vector<var<long>> data(200);
    std::atomic<unsigned> readers{2};
    violations torn;
    run_threads(5, [&](unsigned me) {
        if (me < 2) {
            for (std::size_t i = 0; i < reads; ++i) {
                const long sum = atomically(visibly, [&](tx& t) {
                    long total = 0;
                    for (auto& v : data) total += v.get(t);
                    return total;
                });
                torn.expect(sum == 0);
            }
            --readers;
        } else {
            support::random dice{me};
            while (readers.load() != 0) {
                auto& from = data[dice.below(data.size())];
                auto& to = data[dice.below(data.size())];
                atomically([&](tx& t) {
                    from.set(t, from.get(t) - 1);
                    to.set(t, to.get(t) + 1);
                });
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
}

// Both readers have marked the variable that both then want to write, so one has to abort.
TEST_F(visible_readers_test, both_write_what_they_read) {
    const std::size_t each = rounds(500);
    var<long> counter{0};
    run_threads(4, [&](unsigned) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically(visibly, [&](tx& t) {
                const long seen = counter.get(t);
                counter.set(t, seen + 1);
            });
        }
    });
    EXPECT_EQ(counter.load(), static_cast<long>(4 * each));
}

// A block that becomes visible on the way keeps its earlier reads and writes.
TEST_F(visible_readers_test, become_visible_inside_a_block) {
    const std::size_t each = rounds(400);
    var<long> a{0}, b{0}, c{0};
    violations wrong;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) {
                a.set(t, a.get(t) + 1);
                const long seen = b.get(t);
                if (me % 2 == 0) {
                    t.become_visible();
                    t.become_visible();  // idempotent
                }
                wrong.expect(b.get(t) == seen && a.get(t) == c.get(t) + 1);
                b.set(t, seen + 1);
                c.set(t, c.get(t) + 1);
            });
        }
    });
    EXPECT_EQ(wrong.count(), 0);
    EXPECT_EQ(a.load(), static_cast<long>(4 * each));
    EXPECT_EQ(b.load(), a.load());
    EXPECT_EQ(c.load(), a.load());
}

// Plain words are marked like variables.
TEST_F(visible_readers_test, read_plain_words) {
    const std::size_t each = rounds(400);
    std::array<std::uint32_t, 4> words{};
    violations torn;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically({.mode = me % 2 == 0 ? mode::visible : mode::optimistic, .privatization = privatization::waived},
                       [&](tx& t) {
                           const std::uint32_t seen = load(t, &words[0]);
                           for (auto& w : words) torn.expect(load(t, &w) == seen);
                           for (auto& w : words) store(t, &w, seen + 1);
                       });
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(words[3], 4 * each);
}

// Marks are also removed if the block does not commit.
TEST_F(visible_readers_test, leave_no_mark_behind) {
    struct refusal {};
    var<long> v{0};
    EXPECT_THROW(atomically(visibly,
                            [&](tx& t) {
                                (void)v.get(t);
                                cancel(t);
                            }),
                 cancelled);
    EXPECT_THROW(atomically(visibly,
                            [&](tx& t) {
                                (void)v.get(t);
                                throw refusal{};
                            }),
                 refusal);
    atomically(visibly, [&](tx&) {
        (void)try_atomically([&](tx& c) {
            (void)v.get(c);
            cancel(c);
        });
    });
    run_threads(2, [&](unsigned) { atomically([&](tx& t) { v.set(t, v.get(t) + 1); }); });
    EXPECT_EQ(v.load(), 2);
}

}  // namespace
}  // namespace tutti::anomalies
