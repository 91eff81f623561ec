// One suite for every engine, on a real server. TUTTI_ENGINE names the engine; the default is memory.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/engines/proxy.hpp"
#include "cluster/engines/servers.hpp"
#include "cluster/engines/suite.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using cluster::node;
using cluster::ref;
using cluster::backend::fault;

std::string chosen() {
    const char* const name = std::getenv("TUTTI_ENGINE");
    return name == nullptr ? "memory" : name;
}

struct account {
    long balance = 0;
};

/// Returns false if the algorithm runs one block of a process at a time. Under such an algorithm, a block that waits
/// for another block of its process waits forever.
bool blocks_meet() { return algorithm() != "serial" && algorithm() != "global-lock"; }
constexpr const char* alone = "a block waits for another block of this process, and this algorithm runs one at a time";

class engine : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        const std::string missing = missing_for(chosen());
        ASSERT_EQ(missing, "") << "is needed, and not installed";
        server_ = make_server(chosen());
        which_ = {server_ ? server_->address() : "memory:suite", chosen()};
    }
    static void TearDownTestSuite() { server_.reset(); }
    /// Returns the number of rounds: one for memory, and one for a server that writes to a disk.
    static std::size_t rounds(std::size_t memory, std::size_t durable) {
        return support::rounds(chosen() == "memory" ? memory : durable);
    }

    support::watchdog guard_{chosen(), std::chrono::seconds{100}};
    static inline std::unique_ptr<server> server_;
    static inline under_test which_;
};

TEST_F(engine, history_is_clean) { EXPECT_EQ(history_is_clean(which_, rounds(2000, 40)), ""); }
TEST_F(engine, opacity_spans_variables_and_objects) { EXPECT_EQ(variables_agree(which_, rounds(2000, 60)), ""); }
TEST_F(engine, no_write_skew_with_variables) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    EXPECT_EQ(no_skew_with_variables(which_, rounds(1000, 30)), "");
}
TEST_F(engine, no_write_skew_between_objects) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    EXPECT_EQ(no_skew_between_objects(which_), "");
}
TEST_F(engine, writes_each_commit_as_a_whole) { EXPECT_EQ(writes_are_whole(which_, rounds(2000, 40)), ""); }
TEST_F(engine, keeps_held_reads_current) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    EXPECT_EQ(held_reads_stay_true(which_), "");
}
TEST_F(engine, takes_a_new_state_after_a_roll_back) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    EXPECT_EQ(rolled_back_reads_take_a_new_state(which_), "");
}
TEST_F(engine, gives_each_absence_its_own_version) { EXPECT_EQ(absent_twice_differs(which_), ""); }
TEST_F(engine, wakes_retry_on_writes) { EXPECT_EQ(retry_wakes(which_, std::chrono::seconds{60}), ""); }
TEST_F(engine, resolves_lost_replies) { EXPECT_EQ(lost_answers_are_found_out(which_, rounds(500, 40)), ""); }
TEST_F(engine, forgets_commit_records) { EXPECT_EQ(commit_records_are_forgotten(which_), ""); }
TEST_F(engine, irrevocable_blocks_run_once) { EXPECT_EQ(irrevocable_blocks_run_once(which_, rounds(200, 15)), ""); }
TEST_F(engine, rejects_commits_that_are_too_large) { EXPECT_EQ(too_large_is_refused(which_), ""); }

TEST_F(engine, publishes_reads_writes_and_erases_objects) {
    node here{which_.options()};
    const ref<account> alice{here, "alice"};
    EXPECT_THROW(atomically([&](tx& t) { return alice.read(t).balance; }), cluster::no_such_object);
    atomically([&](tx& t) { alice.publish(t, {100}); });
    atomically([&](tx& t) { alice.write(t).balance += 5; });
    EXPECT_EQ(atomically([&](tx& t) { return alice.read(t).balance; }), 105);
    EXPECT_THROW(atomically([&](tx& t) { alice.publish(t, {1}); }), cluster::no_such_object);
    EXPECT_THROW(atomically([&](tx& t) { ref<std::string>{here, alice.id()}.erase(t); }), cluster::type_mismatch);
    EXPECT_TRUE(atomically([&](tx& t) { return alice.erase(t); }));
    EXPECT_FALSE(atomically([&](tx& t) { return alice.erase(t); }));
    EXPECT_TRUE(atomically([&](tx& t) { return alice.find(t) == nullptr; }));
    const ref<std::string> text{here, "text"};
    const std::string awkward{"\0'\"\\,{}\xff\n", 9};
    atomically([&](tx& t) { text.publish(t, awkward); });
    EXPECT_EQ(atomically([&](tx& t) { return text.read(t); }), awkward);
}

TEST_F(engine, rolls_back_writes_of_nested_blocks) {
    node here{which_.options()};
    const ref<account> a{here, "a"}, b{here, "b"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    atomically([&](tx& t) {
        a.write(t).balance = 2;
        EXPECT_FALSE(try_atomically([&](tx& u) {
            a.write(u).balance = 3;
            b.publish(u, {9});
            cancel(u);
        }));
        EXPECT_EQ(a.read(t).balance, 2);
        EXPECT_EQ(b.find(t), nullptr);
        atomically([&](tx& u) { a.write(u).balance += 10; });
    });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 12);
}

TEST_F(engine, commits_open_nested_blocks_and_undoes_them) {
    const cluster::engine_options how = which_.options();
    node here{how}, elsewhere{how};
    const ref<account> count{here, "open"}, same{elsewhere, "open"};
    atomically([&](tx& t) { count.publish(t, {1}); });
    const auto add = [&](tx& t, long n) {
        open_nested(t, [&, n](tx& i) { count.write(i).balance += n; }, [&, n](tx& u) { count.write(u).balance -= n; });
    };
    EXPECT_FALSE(try_atomically([&](tx& t) {
        add(t, 10);
        if (blocks_meet()) {
            std::thread{[&] { EXPECT_EQ(atomically([&](tx& o) { return same.read(o).balance; }), 11); }}.join();
        }
        cancel(t);
    }));
    EXPECT_EQ(atomically([&](tx& t) { return same.read(t).balance; }), 1);
    atomically([&](tx& t) { add(t, 20); });
    EXPECT_EQ(atomically([&](tx& t) { return same.read(t).balance; }), 21);
}

TEST_F(engine, restores_objects_at_a_checkpoint) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    node here{which_.options()};
    const ref<account> a{here, "a"}, b{here, "b"};
    var<long> x{0}, y{0};
    atomically([&](tx& t) { a.publish(t, {0}); });
    unsigned rests = 0, attempts = 0;
    // A context that finds checkpoints useless stops using them. This thread is new, so its attempts have never started
    // over.
    std::thread{[&] {
        atomically([&](tx& t) {
            ++attempts;
            a.write(t).balance += 10;
            checkpoint(t, [&](tx& u) {
                const long seen = x.get(u);
                a.write(u).balance += 1;
                if (b.find(u) == nullptr) b.publish(u, {seen});
                else b.write(u).balance += 100;
                if (++rests == 1) {
                    std::thread{[&] {
                        atomically([&](tx& v) {
                            x.set(v, 5);
                            y.set(v, 5);
                        });
                    }}.join();
                }
                y.set(u, y.get(u) + 1);  // the block's read of x is stale now
                // a block that writes every variable that it reads owns its reads, so `lock_reads` does not restart it
                x.set(u, seen + 1);
            });
        });
    }}.join();
    EXPECT_EQ(atomically([&](tx& t) { return std::pair(a.read(t).balance, b.read(t).balance); }), std::pair(11L, 5L));
    EXPECT_EQ(rests, 2u);
    EXPECT_EQ(attempts, 1u) << "it has started over, and this test has tested nothing";
}

TEST_F(engine, wakes_alternatives_for_reads_of_both_branches) {
    node here{which_.options()};
    const ref<account> a{here, "a"}, b{here, "b"};
    atomically([&](tx& t) {
        a.publish(t, {0});
        b.publish(t, {0});
    });
    std::thread other{[&] { atomically([&](tx& t) { b.write(t).balance = 7; }); }};
    const auto what = [](const ref<account>& of) {
        return [&of](tx& t) {
            const long balance = of.read(t).balance;
            if (balance == 0) retry(t);
            return balance;
        };
    };
    const long got = atomically([&](tx& t) { return or_else(t, what(a), what(b)); });
    other.join();
    EXPECT_EQ(got, 7);
}

TEST_F(engine, leaves_nothing_behind_after_an_exception) {
    node here{which_.options()};
    var<long> local{0};
    const ref<account> a{here, "a"};
    EXPECT_THROW(atomically([&](tx& t) {
                     a.publish(t, {1});
                     local.set(t, 1);
                     throw std::runtime_error{"no"};
                 }),
                 std::runtime_error);
    EXPECT_TRUE(atomically([&](tx& t) { return a.find(t) == nullptr; }));
    EXPECT_EQ(local.load(), 0);
}

TEST_F(engine, replaces_ended_connections) {
    if (!server_) GTEST_SKIP() << "it has no connections";
    proxies between{server_->places_to_reach(), 1};
    cluster::engine_options how = which_.options();
    how.address = server_->address_by_all(between.places());
    node here{how};
    const ref<account> a{here, "a"};
    atomically([&](tx& t) { a.publish(t, {0}); });
    for (int i = 0; i < 5; ++i) {
        between.cut();
        atomically([&](tx& t) { a.write(t).balance += 1; });
    }
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 5);
}

TEST_F(engine, is_not_waited_for_beyond_the_timeout) {
    if (!server_) GTEST_SKIP() << "it has no connections";
    proxies between{server_->places_to_reach(), 1};
    cluster::engine_options how = which_.options();
    node near{how};
    how.address = server_->address_by_all(between.places());
    how.request_timeout = std::chrono::milliseconds{1000};
    node far{how};
    const ref<std::string> text{near, "text"}, text_there{far, "text"};
    atomically([&](tx& t) { text.publish(t, "short"); });
    // Larger than all buffers on the path, so a sender without a time limit hangs.
    const std::size_t size = std::min<std::size_t>(far.capabilities().max_bytes / 2, 16u << 20);
    EXPECT_THROW(atomically([&](tx& t) {
                     std::string& all = text_there.write(t);
                     between.hold(true);
                     all.assign(size, 'x');
                 }),
                 cluster::node_lost);
    between.cut();
    between.hold(false);
    EXPECT_THROW(atomically([&](tx& t) {
                     static_cast<void>(text_there.read(t));
                     between.hold(true);
                     retry(t);
                 }),
                 cluster::node_lost);
    between.cut();
    between.hold(false);
    const std::size_t found = atomically([&](tx& t) { return text.read(t).size(); });
    EXPECT_TRUE(found == 5 || found == size) << found;
}

TEST_F(engine, leaves_nothing_of_a_failed_irrevocable_block) {
    const cluster::engine_options how = which_.options();
    node here{how}, there{how};
    const ref<account> a{here, "a"}, b{here, "b"}, a_there{there, "a"}, b_there{there, "b"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    EXPECT_THROW(atomically({.mode = mode::irrevocable},
                            [&](tx& t) {
                                a.write(t).balance = 2;
                                b.publish(t, {2});
                                throw std::runtime_error{"no"};
                            }),
                 std::runtime_error);
    // The formerly reserved objects can be read and written as before.
    atomically([&](tx& t) {
        EXPECT_EQ(b_there.find(t), nullptr);
        EXPECT_EQ(a_there.read(t).balance, 1);
        a_there.write(t).balance = 3;
    });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 3);
}

// Catches a block that is irrevocable although it has not reserved its objects.
TEST_F(engine, restarts_blocks_that_become_irrevocable) {
    node here{which_.options()};
    const ref<account> a{here, "a"}, b{here, "b"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    int runs = 0, behind = 0;
    atomically([&](tx& t) {
        ++runs;
        a.write(t).balance += 1;
        t.become_irrevocable();
        ++behind;
        b.publish(t, {a.read(t).balance});
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(behind, 1);
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance * 10 + b.read(t).balance; }), 22);
}

TEST_F(engine, breaks_reservations_of_slow_irrevocable_blocks) {
    if (!blocks_meet()) GTEST_SKIP() << alone;
    cluster::engine_options how = which_.options();
    how.lease = std::chrono::milliseconds{50};
    node here{how}, there{how};
    const ref<account> a{here, "a"}, b{here, "b"}, a_there{there, "a"};
    atomically([&](tx& t) {
        a.publish(t, {1});
        b.publish(t, {1});
    });
    EXPECT_THROW(atomically({.mode = mode::irrevocable},
                            [&](tx& t) {
                                b.write(t).balance = a.read(t).balance + 1;
                                std::thread{[&] { atomically([&](tx& u) { a_there.write(u).balance = 7; }); }}.join();
                            }),
                 cluster::node_lost);
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance * 10 + b.read(t).balance; }), 71);
}

/// Not a test: the program that the next test kills.
TEST(lease_holder, DISABLED_holds_until_it_is_killed) {
    cluster::engine_options how;
    how.address = std::getenv("TUTTI_HOLD_AT");
    how.prefix = std::getenv("TUTTI_HOLD_PREFIX");
    how.lease = std::chrono::milliseconds{200};
    node here{how};
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        ref<account>{here, "a"}.write(t).balance = 2;
        std::printf("it holds\n");
        std::fflush(stdout);
        while (true) ::pause();
    });
}

TEST_F(engine, frees_leases_of_killed_programs) {
    if (!server_) GTEST_SKIP() << "it ends with its program";
    const cluster::engine_options how = which_.options();
    node here{how};
    const ref<account> a{here, "a"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    ::setenv("TUTTI_HOLD_AT", how.address.c_str(), 1);
    ::setenv("TUTTI_HOLD_PREFIX", how.prefix.c_str(), 1);
    const std::string log = ::testing::TempDir() + "tutti-holder-" + std::to_string(::getpid());
    process holder{{"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=lease_holder.*"}, log};
    for (std::string line; line != "it holds";) {
        ASSERT_FALSE(holder.has_ended());
        std::ifstream result{log};
        while (line != "it holds" && std::getline(result, line)) {}
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 1);  // readers do not wait
    holder.end();
    atomically([&](tx& t) { a.write(t).balance += 10; });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 11);
    ::unlink(log.c_str());
}

TEST_F(engine, is_rejected_beside_another_deciding_engine) {
    node here{which_.options()}, there{which_.options()};
    const ref<account> a{here, "a"}, b{there, "b"};
    EXPECT_THROW(atomically([&](tx& t) {
                     a.publish(t, {1});
                     b.publish(t, {1});
                 }),
                 usage_error);
    EXPECT_TRUE(atomically([&](tx& t) { return a.find(t) == nullptr && b.find(t) == nullptr; }));
}

// ---- copies of read objects; caching_engine_test.cpp has the broken variants

TEST_F(engine, answers_from_copies_that_follow_other_writes) {
    cluster::engine_options how = which_.options();
    if (how.staleness.count() == 0) GTEST_SKIP() << "nothing is kept";
    node here{how}, there{how};
    const ref<account> a{here, "a"}, a_there{there, "a"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    const auto look = [&] { return atomically({.read_only = true}, [&](tx& t) { return a_there.read(t).balance; }); };
    for (int value = 1; value < 20; ++value) {
        atomically([&](tx& t) { a.write(t).balance = value; });
        EXPECT_EQ(look(), value);
        // The feed delivers the change. From then on the copy answers without the server.
        for (const std::uint64_t before = there.statistics().cached_reads; there.statistics().cached_reads == before;)
            EXPECT_EQ(look(), value);
    }
    const cluster::node_statistics all = there.statistics();
    EXPECT_GE(all.cached_reads, 19u);
    EXPECT_GT(all.round_trips, 0u);
}

// ---- tests of the tests: the suite notices each broken variant of the embedded engine

class engine_fault_injection_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (chosen() != "memory") GTEST_SKIP() << "steps are left out of the embedded engine alone";
        if (!blocks_meet()) GTEST_SKIP() << "most faults show only where blocks meet; the default algorithm shows all";
    }
    void TearDown() override { cluster::backend::injected_fault = fault::none; }
    template <class F>
    static void expect_detected(fault f, F&& look) {
        cluster::backend::injected_fault = f;
        std::string result;
        // Chance decides whether threads meet.
        for (int i = 0; i < 20 && result.empty(); ++i) result = look();
        cluster::backend::injected_fault = fault::none;
        EXPECT_NE(result, "") << "fault " << static_cast<int>(f) << " was not noticed";
        std::printf("fault %d: %s\n", static_cast<int>(f), result.substr(0, 90).c_str());
    }
    static inline const under_test memory{"memory:broken", "memory"};
};

TEST_F(engine_fault_injection_test, detects_stale_reads) {
    expect_detected(fault::stale_read, [] { return held_reads_stay_true(memory); });
}
TEST_F(engine_fault_injection_test, detects_torn_reads) {
    expect_detected(fault::torn_read, [] { return writes_are_whole(memory, support::rounds(500)); });
}
TEST_F(engine_fault_injection_test, detects_torn_writes) {
    expect_detected(fault::torn_write, [] { return writes_are_whole(memory, support::rounds(500)); });
}
TEST_F(engine_fault_injection_test, detects_commits_without_checks) {
    expect_detected(fault::no_check, [] { return no_skew_between_objects(memory); });
}
TEST_F(engine_fault_injection_test, detects_write_skew) {
    expect_detected(fault::half_check, [] { return no_skew_between_objects(memory); });
}
TEST_F(engine_fault_injection_test, detects_forgotten_erasures) {
    expect_detected(fault::erase_forgets, [] { return absent_twice_differs(memory); });
}
TEST_F(engine_fault_injection_test, detects_repeated_commits) {
    expect_detected(fault::forget_commit_records,
                    [] { return lost_answers_are_found_out(memory, support::rounds(200)); });
}
TEST_F(engine_fault_injection_test, detects_late_commits_that_are_not_aborted) {
    expect_detected(fault::no_fence, [] { return lost_answers_are_found_out(memory, support::rounds(200)); });
}
TEST_F(engine_fault_injection_test, detects_ignored_leases) {
    expect_detected(fault::lease_ignored, [] { return irrevocable_blocks_run_once(memory, support::rounds(200)); });
}
TEST_F(engine_fault_injection_test, detects_unprotected_local_reads) {
    expect_detected(fault::unprotected_reads, [] { return no_skew_with_variables(memory, 50); });
}
TEST_F(engine_fault_injection_test, detects_a_silent_feed) {
    expect_detected(fault::silent_feed, [] { return retry_wakes(memory, std::chrono::seconds{1}); });
}

}  // namespace
