// Zombie (inconsistent snapshot, non-repeatable read): a body sees a state that no serial order explains, even in an
// attempt that is rolled back later. Every check runs inside the body, before a roll-back.
//
// Catches an engine that extends its snapshot before it validates (or without validation), and one that samples the
// clock after the validation. Catches an engine that checks reads only at commit.
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/meeting_point.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

class zombie_test : public suite_of_flavours {};

/// Runs two threads of writers, and readers of three kinds until the writers are done.
/// @param write(flavour, step)  one step of a writer
/// @param read(flavour, options, random)  one block of a reader
template <class Write, class Read>
void writers_against_readers(const flavour& all, std::size_t each, Write write, Read read) {
    std::atomic<unsigned> writers{2};
    run_threads(6, [&](unsigned me) {
        const flavour mine = all.of(me);
        support::random dice{me};
        if (me < 2) {
            for (std::size_t i = 0; i < each; ++i) write(mine, i);
            --writers;
        } else {
            while (writers.load() != 0) read(mine, options{.read_only = me == 3}, dice);
        }
    });
}

// All variables are always equal. They are read in any order, so that no order of acquisition hides a gap.
TEST_P(zombie_test, never_sees_variables_that_differ) {
    constexpr std::size_t count = 12;
    std::array<var<long>, count> data{};
    violations seen;
    writers_against_readers(
        GetParam(), rounds(600),
        [&](const flavour& mine, std::size_t) {
            run(mine, [&](tx& t) {
                const long next = data[0].get(t) + 1;
                for (auto& v : data) v.set(t, next);
            });
        },
        [&](const flavour& mine, const options& how, support::random& dice) {
            const std::size_t start = dice.below(count);
            run(mine, how, [&](tx& t) {
                const long first = data[start].get(t);
                for (std::size_t i = 1; i < count; ++i) seen.expect(data[(start + i * 5) % count].get(t) == first);
                seen.expect(data[start].get(t) == first);  // and a second time
            });
        });
    EXPECT_EQ(seen.count(), 0);
}

// The reader also writes, so the block is not read-only and finds its own orecs.
TEST_P(zombie_test, never_sees_an_inconsistent_sum) {
    constexpr std::size_t count = 8;
    std::array<var<long>, count> accounts{};
    var<long> scratch{0};
    violations seen;
    writers_against_readers(
        GetParam(), rounds(800),
        [&](const flavour& mine, std::size_t step) {
            auto& from = accounts[step % count];
            auto& to = accounts[(step * 3 + 1) % count];
            run(mine, [&](tx& t) {
                from.set(t, from.get(t) - 7);
                to.set(t, to.get(t) + 7);
            });
        },
        [&](const flavour& mine, const options& how, support::random& dice) {
            const bool writes = !how.read_only && dice.one_in(2);
            run(mine, how, [&](tx& t) {
                if (writes) scratch.set(t, 1);
                long sum = 0;
                for (auto& v : accounts) sum += v.get(t);
                seen.expect(sum == 0);
                if (writes) scratch.set(t, sum);
            });
        });
    EXPECT_EQ(seen.count(), 0);
    EXPECT_EQ(scratch.load(), 0);
}

// Shows the consequences of an inconsistent state: a zombie divides by zero and indexes out of bounds.
TEST_P(zombie_test, never_follows_an_index_out_of_bounds) {
    constexpr unsigned small = 2, large = 16;
    var<unsigned> size{small}, index{0};
    violations seen;
    writers_against_readers(
        GetParam(), rounds(800),
        [&](const flavour& mine, std::size_t step) {
            run(mine, [&](tx& t) {
                size.set(t, step % 2 == 0 ? large : small);
                index.set(t, step % 2 == 0 ? large - 1 : small - 1);
            });
        },
        [&](const flavour& mine, const options& how, support::random& dice) {
            const bool size_first = dice.one_in(2);
            run(mine, how, [&](tx& t) {
                const unsigned a = size_first ? size.get(t) : index.get(t);
                const unsigned b = size_first ? index.get(t) : size.get(t);
                seen.expect(size_first ? b < a : a < b);
            });
        });
    EXPECT_EQ(seen.count(), 0);
}

// Words of one object, some of them in the same eight bytes.
TEST_P(zombie_test, never_sees_plain_words_that_differ) {
    struct alignas(8) object {
        std::uint8_t a = 0;
        std::uint8_t b = 0;
        std::uint16_t c = 0;
        std::uint32_t d = 0;
        std::uint64_t e = 0;
        std::uint8_t pad[120] = {};
        std::uint8_t f = 0;
    } data;
    violations seen;
    writers_against_readers(
        GetParam(), rounds(400),
        [&](const flavour& mine, std::size_t) {
            run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                const auto next = static_cast<std::uint8_t>(load(t, &data.a) + 1);
                store(t, &data.e, next);
                store(t, &data.a, next);
                store(t, &data.f, next);
                store(t, &data.c, next);
                store(t, &data.b, next);
                store(t, &data.d, next);
            });
        },
        [&](const flavour& mine, options how, support::random& dice) {
            const bool forwards = dice.one_in(2);
            how.privatization = privatization::waived;
            run(mine, how, [&](tx& t) {
                const std::uint64_t first = forwards ? load(t, &data.a) : load(t, &data.f);
                seen.expect(load(t, &data.d) == first);
                seen.expect(load(t, &data.b) == first);
                seen.expect(load(t, &data.e) == first);
                seen.expect(load(t, &data.c) == first);
                seen.expect((forwards ? load(t, &data.f) : load(t, &data.a)) == first);
            });
        });
    EXPECT_EQ(seen.count(), 0);
}

// A commit comes between two reads of one attempt, and changes both variables.
TEST_P(zombie_test, never_continues_after_a_conflicting_commit) {
    const std::size_t times = rounds(20);
    var<long> left{0}, right{0};
    std::barrier around{2};
    support::meeting_point between, committed;
    violations torn;
    run_threads(2, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < times; ++i) {
            around.arrive_and_wait();
            if (me == 0) {
                run(mine, [&](tx& t) {
                    const long seen = left.get(t);
                    between.meet(0);
                    committed.meet(0);
                    torn.expect(right.get(t) == seen);
                });
            } else {
                between.meet(1);
                run(mine, [&](tx& t) {
                    left.set(t, left.get(t) + 1);
                    right.set(t, right.get(t) + 1);
                });
                committed.meet(1);
            }
            around.arrive_and_wait();
            if (me != 0) continue;
            between.reset();
            committed.reset();
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(right.load(), static_cast<long>(times));
}

TUTTI_IN_EVERY_FLAVOUR(zombie_test);

}  // namespace
}  // namespace tutti::anomalies
