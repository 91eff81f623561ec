// Counter additions that conflict, get lost, or are partly visible.
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/heap.hpp"

namespace tutti::anomalies {
namespace {

class commuting_counter_test : public suite {};

TEST_F(commuting_counter_test, counts_for_one) {
    counter c{40};
    atomically([&](tx& t) {
        c.add(t, 3);
        EXPECT_EQ(c.get(t), 43);
        c.add(t, -1);
    });
    c.add(1);
    EXPECT_EQ(c.load(), 43);
    EXPECT_THROW(atomically([&](tx& t) {
                     c.add(t, 100);
                     throw 1;
                 }),
                 int);
    EXPECT_EQ(c.load(), 43);
}

// Both transactions add before either commits. If the additions conflicted, one transaction would run again.
TEST_F(commuting_counter_test, adds_without_conflicts) {
    if (!concurrent() || commits_one_by_one()) GTEST_SKIP() << "every commit is a conflict there";
    const support::watchdog dog{test_name()};
    counter c;
    std::atomic<int> added{0};
    std::atomic<unsigned> attempts{0};
    run_threads(2, [&](unsigned) {
        c.add(1);  // creates the context's cell
        atomically([&](tx& t) {
            ++attempts;
            c.add(t, 1);
            ++added;
            while (added.load() < 2) std::this_thread::yield();
        });
    });
    EXPECT_EQ(attempts.load(), 2u);
    EXPECT_EQ(c.load(), 4);
}

TEST_F(commuting_counter_test, loses_no_addition_of_many_contexts) {
    constexpr unsigned threads = 40;  // more than one block of cells
    const std::size_t each = rounds(300);
    counter c;
    run_threads(threads, [&](unsigned) {
        for (std::size_t i = 0; i < each; ++i) c.add(1);
    });
    EXPECT_EQ(c.load(), static_cast<std::int64_t>(threads * each));
}

// Catches cells of a block that outlive its roll-back, or outlive the counter.
TEST_F(commuting_counter_test, leaks_no_memory) {
    constexpr unsigned threads = 40;
    std::int64_t before = 0;
    for (int times = 0; times < 2; ++times) {
        before = support::live_blocks.load();
        counter c;
        std::barrier all_there{threads};
        run_threads(threads, [&](unsigned) {
            static_cast<void>(c.load());  // gives the context its number
            all_there.arrive_and_wait();
            EXPECT_THROW(atomically([&](tx& t) {
                             c.add(t, 1);
                             throw 1;
                         }),
                         int);
            atomically([&](tx&) {
                EXPECT_FALSE(try_atomically([&](tx& n) {
                    c.add(n, 1);
                    cancel(n);
                }));
            });
            c.add(1);
        });
        EXPECT_EQ(c.load(), threads);
    }
    EXPECT_EQ(support::live_blocks.load(), before);  // the first round created the descriptors
}

// Every transaction adds to one counter and subtracts from the other. Every reader must see the sum zero.
TEST_F(commuting_counter_test, is_read_consistently) {
    counter ups, downs;
    violations seen;
    const std::size_t each = rounds(1500);
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            if (me == 0) {
                atomically([&](tx& t) { seen.expect(ups.get(t) + downs.get(t) == 0); });
            } else {
                atomically([&](tx& t) {
                    ups.add(t, static_cast<std::int64_t>(me));
                    downs.add(t, -static_cast<std::int64_t>(me));
                });
            }
        }
    });
    EXPECT_EQ(seen.count(), 0);
    EXPECT_EQ(ups.load(), static_cast<std::int64_t>(6 * each));
}

}  // namespace
}  // namespace tutti::anomalies
