// Blocks that read a snapshot: which values they see, what they refuse, and how their memory is bounded.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/kept_values.hpp"
#include "algorithms/snapshots.hpp"
#include "core/lifecycle/fork.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/version_clock.hpp"
#include "support/watchdog.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/tutti.hpp"

namespace tutti {
namespace {

using algorithms::kept_values;
using algorithms::version_clock;

constexpr options snapshot{.name = "snapshot", .mode = mode::snapshot};
constexpr options waived{.privatization = privatization::waived};

core::descriptor& mine() { return core::descriptor::of(detail::current_or_attach()); }

/// Runs `f` on another thread, and waits for its end.
template <class F>
void elsewhere(F f) {
    std::thread{f}.join();
}

/// The text of the usage_error that `f` throws.
template <class F>
std::string refusal_of(F f) {
    try {
        f();
    } catch (const usage_error& e) {
        return e.what();
    }
    return {};
}

class snapshot_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (mine().algorithm->begin_snapshot == nullptr) GTEST_SKIP() << "this algorithm has no snapshots";
    }
};

TEST_F(snapshot_test, shows_the_values_of_its_begin) {
    std::array<var<long>, 100> all{};
    const long sum = atomically(snapshot, [&](tx& t) {
        EXPECT_EQ(t.attempt(), 1U);
        long read = all[0].get(t);
        elsewhere([&] {
            for (long i = 1; i != 4; ++i) {
                for (var<long>& v : all) v.store(i);
            }
        });
        for (const var<long>& v : all) read += v.get(t);
        return read;
    });
    EXPECT_EQ(sum, 0);
    EXPECT_EQ(atomically(snapshot, [&](tx& t) { return all[99].get(t); }), 3);
}

TEST_F(snapshot_test, shows_values_of_every_size) {
    var<std::string> text{"a text that does not fit into a word"};
    counter many{5};
    ordered_map<int, int> map;
    for (int i = 0; i != 1000; ++i) map.insert(i, i);
    atomically(snapshot, [&](tx& t) {
        EXPECT_EQ(t.attempt(), 1U);
        elsewhere([&] {
            text.store("another one, which does not fit into a word either");
            many.add(7);
            for (int i = 0; i != 1000; i += 2) map.erase(i);
            for (int i = 1000; i != 1500; ++i) map.insert(i, i);
        });
        EXPECT_EQ(text.get(t), "a text that does not fit into a word");
        EXPECT_EQ(many.get(t), 5);
        int next = 0;
        map.for_each(t, [&](int key, int value) {
            EXPECT_EQ(key, next);
            EXPECT_EQ(value, next);
            ++next;
        });
        EXPECT_EQ(next, 1000);
    });
    EXPECT_EQ(atomically(snapshot, [&](tx& t) { return map.size(t); }), 1000U);
}

TEST_F(snapshot_test, shows_objects_that_are_destroyed_meanwhile) {
    struct node {
        explicit node(long n) : value{n} {}
        var<long> value;
    };
    var<node*> place{nullptr};
    atomically([&](tx& t) { place.set(t, create<node>(t, 1)); });
    atomically(snapshot, [&](tx& t) {
        elsewhere([&] {
            for (long i = 2; i != 1000; ++i) {
                atomically([&](tx& u) {
                    node* const old = place.get(u);
                    old->value.set(u, -1);
                    destroy(u, old);
                    place.set(u, create<node>(u, i));
                });
            }
        });
        EXPECT_EQ(place.get(t)->value.get(t), 1);
    });
    atomically([&](tx& t) { destroy(t, place.exchange(t, nullptr)); });
}

TEST_F(snapshot_test, shows_plain_memory) {
    alignas(64) std::array<long, 16> words{};
    alignas(8) std::array<unsigned char, 8> bytes{};
    unsigned last = 0;
    atomically(snapshot, [&](tx& t) {
        last = t.attempt();
        EXPECT_EQ(load(t, &words[3]), 0);
        if (t.attempt() == 1) return;  // the first access to plain memory begins the block again
        elsewhere([&] {
            for (int i = 1; i != 4; ++i) {
                for (long& w : words) atomically(waived, [&](tx& u) { store(u, &w, long{i}); });
                atomically(waived, [&](tx& u) { store(u, &bytes[5], static_cast<unsigned char>(i)); });
                EXPECT_FALSE(try_atomically(waived, [&](tx& u) {
                    store(u, &bytes[2], static_cast<unsigned char>(i));
                    cancel(u);
                }));
            }
        });
        for (const long& w : words) EXPECT_EQ(load(t, &w), 0);
        for (const unsigned char& b : bytes) EXPECT_EQ(load(t, &b), 0);
    });
    EXPECT_EQ(last, 2U);
}

TEST_F(snapshot_test, contains_what_has_committed_before) {
    var<long> v{0};
    for (long i = 1; i != 1000; ++i) {
        if (i % 100 == 0) elsewhere([&] { v.store(i); });
        else v.store(i);
        EXPECT_EQ(atomically(snapshot, [&](tx& t) { return v.get(t); }), i);
    }
}

TEST_F(snapshot_test, ignores_writers_that_roll_back) {
    var<long> v{1}, w{1};
    atomically(snapshot, [&](tx& t) {
        elsewhere([&] {
            EXPECT_FALSE(try_atomically([&](tx& u) {
                v.set(u, 2);
                cancel(u);
            }));
            atomically([&](tx& u) {
                v.set(u, 3);
                EXPECT_FALSE(try_atomically([&](tx& n) {
                    w.set(n, 3);
                    cancel(n);
                }));
            });
        });
        EXPECT_EQ(t.attempt(), 1U);
        EXPECT_EQ(v.get(t), 1);
        EXPECT_EQ(w.get(t), 1);
    });
}

TEST_F(snapshot_test, survives_a_new_era) {
    std::array<var<long>, 4> all{};
    support::advance_clock_to(version_clock::late - 1000);
    for (var<long>& v : all) v.store(1);
    version_clock::start_era();  // no transaction runs
    atomically(snapshot, [&](tx& t) {
        EXPECT_EQ(t.attempt(), 1U);
        EXPECT_EQ(all[0].get(t), 1);
        elsewhere([&] { all[1].store(2); });
        EXPECT_EQ(all[1].get(t), 1);
        EXPECT_EQ(all[2].get(t), 1);
    });
}

TEST_F(snapshot_test, a_block_that_only_reads_takes_one_after_two_attempts) {
    var<long> first{0}, second{0};
    constexpr options reading{.name = "reading", .read_only = true};
    constexpr options another{.name = "another", .read_only = true};
    const auto attempts_of = [&](const options& how) {
        unsigned attempts = 0;
        atomically(how, [&](tx& t) {
            attempts = t.attempt();
            static_cast<void>(first.get(t));
            elsewhere([&] { second.store(second.load() + 1); });
            static_cast<void>(second.get(t));
        });
        return attempts;
    };
    EXPECT_EQ(attempts_of(reading), 3U);
    EXPECT_EQ(attempts_of(another), 3U) << "another block at the same place";
    for (std::uint32_t i = 1; i != core::predicted_snapshots; ++i) ASSERT_EQ(attempts_of(another), 1U) << i;
    EXPECT_EQ(attempts_of(another), 1U);
    EXPECT_EQ(attempts_of(another), 3U) << "now and then, the block tries again without a snapshot";
}

TEST_F(snapshot_test, a_wait_leaves_it) {
    var<long> v{0};
    std::thread later{[&] { v.store(1); }};
    EXPECT_EQ(atomically(snapshot,
                         [&](tx& t) {
                             const long seen = v.get(t);
                             if (seen == 0) retry(t);
                             return seen;
                         }),
              1);
    later.join();
}

TEST_F(snapshot_test, an_open_nested_block_leaves_it) {
    var<long> v{0};
    EXPECT_EQ(atomically(snapshot,
                         [&](tx& t) {
                             open_nested(t, [&](tx& i) { v.set(i, 1); }, [&](tx& u) { v.set(u, 0); });
                             return v.get(t);
                         }),
              1);
}

TEST_F(snapshot_test, many_at_once) {
    constexpr int readers = 24;  // more than there are slots
    const support::watchdog guard{"many snapshots at once"};
    std::array<var<long>, 64> all{};
    std::latch all_read{readers};
    std::vector<std::thread> threads;
    for (int i = 0; i != readers; ++i) {
        threads.emplace_back([&] {
            bool has_arrived = false;
            const long sum = atomically(snapshot, [&](tx& t) {
                long read = all[0].get(t);
                if (!std::exchange(has_arrived, true)) all_read.arrive_and_wait();
                for (const var<long>& v : all) read += v.get(t);
                return read;
            });
            EXPECT_TRUE(sum == 0 || sum == 6500) << sum;
        });
    }
    atomically([&](tx& t) {
        for (var<long>& v : all) v.set(t, 100);
    });
    for (std::thread& t : threads) t.join();
}

TEST_F(snapshot_test, sums_beside_updates) {
    const support::watchdog guard{"sums beside updates"};
    constexpr std::size_t places = 200;
    std::vector<var<long>> all(places);
    std::vector<long> plain(places, 0);
    for (var<long>& v : all) v.store(10);
    std::atomic<bool> stop{false};
    std::vector<std::thread> updaters;
    for (unsigned seed = 1; seed != 3; ++seed) {
        updaters.emplace_back([&, seed] {
            support::random next{seed};
            while (!stop.load(std::memory_order_relaxed)) {
                const std::size_t from = next.below(places);
                const std::size_t to = next.below(places);
                const bool cancels = next.one_in(4);
                static_cast<void>(try_atomically(waived, [&](tx& t) {
                    all[from].update(t, [](long n) { return n - 1; });
                    store(t, &plain[from], load(t, &plain[from]) - 1);
                    all[to].update(t, [](long n) { return n + 1; });
                    store(t, &plain[to], load(t, &plain[to]) + 1);
                    if (cancels) cancel(t);
                }));
            }
        });
    }
    const std::size_t scans = support::rounds(3000);
    for (std::size_t i = 0; i != scans; ++i) {
        const bool with_plain = i % 4 == 0;
        const long sum = atomically(snapshot, [&](tx& t) {
            long read = 0;
            for (const var<long>& v : all) read += v.get(t);
            if (with_plain) {
                for (const long& p : plain) read += load(t, &p);
            }
            return read;
        });
        ASSERT_EQ(sum, static_cast<long>(10 * places));
        guard.progress();
    }
    stop = true;
    for (std::thread& t : updaters) t.join();
}

TEST_F(snapshot_test, tags_are_used_again) {
    const support::watchdog guard{"tags of snapshots"};
    var<long> v{0};
    constexpr long announcements = (1L << kept_values::tag_bits) + 20'000;
    long last = 0;
    for (long i = 1; i != announcements; ++i) {
        const bool writes = i % 5000 == 0;
        atomically(snapshot, [&](tx& t) {
            ASSERT_TRUE(mine().reads_snapshot()) << "no slot is free after " << i;
            if (writes) elsewhere([&] { v.store(i); });
            EXPECT_EQ(v.get(t), last);
        });
        if (writes) last = i;
        guard.progress();
    }
    EXPECT_EQ(mine().algorithm_data.snapshot.slot, 0) << "the slot whose tags were spent is not in use again";
}

TEST_F(snapshot_test, shows_a_word_whose_old_bytes_are_in_two_entries) {
    if (!mine().algorithm->in_place) GTEST_SKIP() << "runs under wt-etl";
    alignas(8) std::array<std::uint32_t, 2> halves{1, 2};
    detail::word local = 0;
    atomically(snapshot, [&](tx& t) {
        static_cast<void>(load(t, &halves[0]));
        if (t.attempt() == 1) return;  // the first access to plain memory begins the block again
        elsewhere([&] {
            atomically(waived, [&](tx& u) {
                store(u, &halves[0], 3U);
                // As itm/logging.cpp does for a variable that the compiler writes without a barrier.
                core::descriptor& d = core::descriptor::of(u);
                d.writes.push({&local, nullptr, local, memory::no_version, memory::no_entry, 0xff, false});
                d.notes_end = d.writes.size();
                store(u, &halves[1], 4U);
            });
        });
        EXPECT_EQ(load(t, &halves[0]), 1U);
        EXPECT_EQ(load(t, &halves[1]), 2U);
    });
    EXPECT_EQ(halves[1], 4U);
}

TEST_F(snapshot_test, the_child_of_a_fork_forgets_those_of_other_threads) {
    var<long> v{0};
    std::latch reads{1}, ended{1};
    std::thread reader{[&] {
        atomically(snapshot, [&](tx& t) {
            static_cast<void>(v.get(t));
            reads.count_down();
            ended.wait();
        });
    }};
    reads.wait();
    const pid_t child = fork();
    if (child == 0) {
        core::forget_others(&mine());
        algorithms::snapshots::forget_others(&mine());
        const std::size_t before = algorithms::kept_values_size();
        v.store(1);
        bool right = atomically(snapshot, [&](tx& t) { return v.get(t) == 1 && t.attempt() == 1; });
        right = right && algorithms::kept_values_size() == before;
        _exit(right ? 0 : 1);
    }
    ended.count_down();
    reader.join();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// These tests also run under algorithms without snapshots, where the blocks are ordinary blocks that only read.

TEST(snapshot_errors, a_write_is_refused) {
    var<long> v{0};
    EXPECT_NE(refusal_of([&] {
                  atomically(snapshot, [&](tx& t) { v.set(t, 1); });
              }).find("the block 'snapshot' with mode::snapshot writes"),
              std::string::npos);
    EXPECT_NE(refusal_of([&] {
                  atomically(snapshot, [&](tx& t) { atomically([&](tx& n) { v.set(n, v.get(t) + 1); }); });
              }).find("mode::snapshot writes"),
              std::string::npos);
    EXPECT_NE(refusal_of([&] {
                  atomically([&](tx& t) {
                      v.set(t, 1);
                      atomically(snapshot, [&](tx& n) { v.set(n, 2); });
                  });
              }).find("read-only writes"),
              std::string::npos);
    EXPECT_EQ(v.load(), 0);
}

TEST(snapshot_errors, a_stricter_mode_is_refused) {
    EXPECT_NE(refusal_of([] { atomically(snapshot, [](tx& t) { t.become_irrevocable(); }); }).find("mode::snapshot"),
              std::string::npos);
    EXPECT_NE(refusal_of([] { atomically(snapshot, [](tx& t) { t.become_visible(); }); }).find("mode::snapshot"),
              std::string::npos);
}

TEST(snapshot_errors, blocks_inside_may_read) {
    var<long> v{7};
    EXPECT_EQ(atomically(snapshot, [&](tx& t) { return v.get(t) + atomically([&](tx& n) { return v.get(n); }); }), 14);
    EXPECT_EQ(atomically([&](tx& t) {
                  v.set(t, 8);
                  return atomically(snapshot, [&](tx& n) { return v.get(n); });
              }),
              8);
}

TEST(snapshot_memory, is_bounded) {
    if (mine().algorithm->begin_snapshot == nullptr) GTEST_SKIP() << "this algorithm has no snapshots";
    if (std::getenv("TUTTI_SNAPSHOT_MEMORY") == nullptr) GTEST_SKIP() << "runs with TUTTI_SNAPSHOT_MEMORY=1";
    std::vector<var<long>> all(100'000);
    abort_cause last = abort_cause::none;
    const long sum = atomically(snapshot, [&](tx& t) {
        last = t.last_abort();
        if (t.attempt() == 1) {
            // Two writers at once may find no room for the first value of a word, but room for the second one.
            const auto write_all = [&] {
                for (var<long>& v : all) v.store(1);
            };
            std::thread other{write_all};
            elsewhere(write_all);
            other.join();
        }
        long read = 0;
        for (const var<long>& v : all) {
            const long value = v.get(t);
            EXPECT_EQ(value, t.attempt() == 1 ? 0 : 1);
            read += value;
        }
        return read;
    });
    EXPECT_EQ(last, abort_cause::snapshot_full);
    EXPECT_EQ(sum, 100'000);
    EXPECT_LE(algorithms::kept_values_size(), std::size_t{1} << 20);
}

TEST(kept_values_test, finds_what_was_kept_first) {
    kept_values values;
    ASSERT_TRUE(values.start(0));
    std::vector<detail::word> words(1000);
    detail::word found = 0;
    EXPECT_FALSE(values.find(1, 0, &words[0], found));
    for (std::size_t i = 0; i != words.size(); ++i) {
        EXPECT_TRUE(values.keep(1, 0, &words[i], i));
        EXPECT_TRUE(values.keep(1, 0, &words[i], i + 1));
    }
    for (std::size_t i = 0; i != words.size(); ++i) {
        ASSERT_TRUE(values.find(1, 0, &words[i], found));
        EXPECT_EQ(found, i);
        EXPECT_FALSE(values.find(2, 0, &words[i], found));
    }
    EXPECT_TRUE(values.keep(2, 0, &words[5], 99));
    ASSERT_TRUE(values.find(2, 0, &words[5], found));
    EXPECT_EQ(found, 99U);
    EXPECT_TRUE(values.keep(1, 0, &words[5], 0)) << "a writer of an earlier snapshot gives up";
    ASSERT_TRUE(values.find(2, 0, &words[5], found));
    EXPECT_EQ(found, 99U);
    values.recycle();
    EXPECT_FALSE(values.find(2, 0, &words[5], found));
}

}  // namespace
}  // namespace tutti
