// Irrevocable blocks over objects of several nodes. Each runs once from the point where it became irrevocable, whatever
// other nodes do.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/open_nesting.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/directory/placement.hpp"
#include "cluster/nodes.hpp"
#include "cluster/processes.hpp"
#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/raw_peer.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::object_id;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::node_process;
using cluster::testing::process_cluster;
using cluster::testing::start_nodes;

constexpr options irrevocably{.mode = mode::irrevocable};

template <class F>
void elsewhere(F&& f) {
    std::jthread{std::forward<F>(f)}.join();
}

/// Returns the `which`-th id whose home is node `home` of `nodes`.
object_id at_home(unsigned home, unsigned nodes, unsigned which = 0) {
    for (object_id id{1, 0};; ++id.low) {
        if (cluster::home_of(id, static_cast<cluster::node_number>(nodes)) == home && which-- == 0) return id;
    }
}

/// Returns the home of the irrevocable token in a cluster of `nodes` nodes.
unsigned token_home(unsigned nodes) {
    return cluster::home_of(cluster::irrevocable_token, static_cast<cluster::node_number>(nodes));
}

class cluster_irrevocable : public ::testing::TestWithParam<cluster::placement> {};

// Catches objects that are overwritten or locked while an irrevocable block holds them. Catches two such blocks that
// wait for each other, and state that a finished block leaves behind.
TEST_P(cluster_irrevocable, runs_each_block_once) {
    support::watchdog guard{"runs_each_block_once"};
    constexpr unsigned count = 3, objects = 4;
    const auto nodes = start_nodes(count, GetParam());
    const auto at = [&](unsigned n, std::uint64_t i) { return ref<account>{*nodes[n], {2, i % objects}}; };
    var<long> local{0};
    atomically([&](tx& t) {
        for (unsigned i = 0; i < objects; ++i) at(0, i).publish(t, {0});
    });
    const auto rounds = static_cast<unsigned>(support::rounds(100));
    std::atomic<bool> stop{false};
    std::atomic<long> added{0}, behind{0};
    std::atomic<int> inside{0}, met{0};
    std::vector<std::thread> writer_threads, irrevocable_threads;
    for (unsigned n = 0; n < count; ++n) {
        writer_threads.emplace_back(
            [&, n] {  // moves money between two objects; also reads a third one, whose value does not matter
                for (unsigned i = n; !stop.load(); ++i) {
                    atomically([&](tx& t) {
                        at(n, i).write(t).balance += 1;
                        at(n, i + 1).write(t).balance -= at(n, i + 2).read(t).balance >= 0 ? 1 : 1;
                    });
                }
            });
        irrevocable_threads.emplace_back([&, n] {
            for (unsigned i = 0; i < rounds; ++i) {
                const bool late = i % 3 == 0, with_local = i % 2 == 0;
                atomically(late ? options{} : irrevocably, [&](tx& t) {
                    long seen = late ? at(n, n + i).read(t).balance : 0;
                    if (late) t.become_irrevocable();
                    behind.fetch_add(1);
                    if (late && at(n, n + i).read(t).balance != seen) ++met;
                    seen = at(n, n + i + 1).read(t).balance;
                    if (inside.fetch_add(1) != 0) ++met;
                    if (with_local) local.set(t, local.get(t) + 1);
                    at(n, n + i).write(t).balance += 1;
                    at(n, n + i + 1).write(t).balance = seen + 1;
                    inside.fetch_sub(1);
                });
                added.fetch_add(2);
            }
        });
    }
    for (std::thread& t : irrevocable_threads) t.join();
    stop.store(true);
    for (std::thread& t : writer_threads) t.join();
    EXPECT_EQ(behind.load(), count * rounds);
    EXPECT_EQ(met.load(), 0);
    EXPECT_EQ(local.load(), count * ((rounds + 1) / 2));
    const long sum = atomically([&](tx& t) {
        long all = 0;
        for (unsigned i = 0; i < objects; ++i) all += at(0, i).read(t).balance;
        return all;
    });
    EXPECT_EQ(sum, added.load());
}

INSTANTIATE_TEST_SUITE_P(all, cluster_irrevocable,
                         ::testing::Values(cluster::placement::home, cluster::placement::writer),
                         [](const auto& p) { return p.param == cluster::placement::home ? "home" : "writer"; });

// Catches a block that becomes irrevocable although an object that it has opened was overwritten, here or elsewhere.
// Catches a block that starts over although its objects are unchanged.
TEST(cluster_irrevocable_blocks, reserve_objects_opened_before) {
    support::watchdog guard{"reserve_objects_opened_before"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const unsigned home : {0u, 1u}) {
        const object_id id = at_home(home, 2);
        const ref<account> here{*nodes[0], id}, there{*nodes[1], id};
        atomically([&](tx& t) { here.publish(t, {0}); });
        for (const bool disturbed : {false, true}) {
            int runs = 0, behind = 0;
            long seen = 0;
            atomically([&](tx& t) {
                seen = here.read(t).balance;
                if (++runs == 1 && disturbed)
                    elsewhere([&] { atomically([&](tx& u) { there.write(u).balance += 10; }); });
                t.become_irrevocable();
                ++behind;
                EXPECT_TRUE(t.irrevocable());
                here.write(t).balance = seen + 1;
            });
            EXPECT_EQ(behind, 1);
            EXPECT_EQ(runs, disturbed ? 2 : 1);
            EXPECT_EQ(atomically([&](tx& t) { return there.read(t).balance; }), seen + 1);
        }
    }
}

// Catches a reservation that keeps out readers, or commits of blocks that have read. Catches a writer that ignores a
// reservation.
TEST(cluster_irrevocable_blocks, exclude_only_writers) {
    support::watchdog guard{"exclude_only_writers"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const unsigned home : {0u, 1u}) {
        const ref<account> held{*nodes[0], at_home(home, 2)}, held_there{*nodes[1], held.id()};
        const ref<account> other{*nodes[1], at_home(1 - home, 2, 1)};
        atomically([&](tx& t) { held_there.publish(t, {1}); });
        atomically([&](tx& t) { other.publish(t, {0}); });
        std::atomic<int> attempts{0};
        std::atomic<bool> written{false};
        std::thread writer;
        atomically(irrevocably, [&](tx& t) {
            held.write(t).balance += 1;
            elsewhere([&] {
                EXPECT_EQ(atomically([&](tx& u) { return held_there.read(u).balance; }), 1);
                EXPECT_EQ(atomically({.read_only = true}, [&](tx& u) { return held_there.read(u).balance; }), 1);
                atomically([&](tx& u) { other.write(u).balance = held_there.read(u).balance; });
            });
            writer = std::thread{[&] {
                atomically([&](tx& u) {
                    ++attempts;
                    held_there.write(u).balance *= 10;
                });
                written.store(true);
            }};
            while (attempts.load() < 5) std::this_thread::yield();
            EXPECT_FALSE(written.load());
        });
        writer.join();
        EXPECT_EQ(atomically([&](tx& t) { return held.read(t).balance; }), 20);
        EXPECT_EQ(atomically([&](tx& t) { return other.read(t).balance; }), 1);
    }
}

/// Votes when the test allows it, while the locks of its block are held.
struct slow_voter final : participant {
    std::atomic<bool> asked{false}, may_vote{false};
    vote prepare() override {
        asked.store(true);
        while (!may_vote.load()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return vote::commit;
    }
    void commit() noexcept override {}
    void abort() noexcept override {}
};

// Catches an irrevocable block that aborts because of a slow commit. The commit writes an object that the block opens,
// or has read an object that the block writes.
TEST(cluster_irrevocable_blocks, wait_for_running_commits) {
    support::watchdog guard{"wait_for_running_commits"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const unsigned home : {0u, 1u}) {
        const ref<account> wanted{*nodes[0], at_home(home, 2)}, wanted_there{*nodes[1], wanted.id()};
        const ref<account> other{*nodes[1], at_home(home, 2, 1)};
        atomically([&](tx& t) { wanted.publish(t, {1}); });
        atomically([&](tx& t) { other.publish(t, {0}); });
        for (const bool writes : {false, true}) {
            slow_voter slow;
            std::jthread committer{[&] {
                atomically([&](tx& t) {
                    other.write(t).balance = wanted_there.read(t).balance;
                    if (writes) wanted_there.write(t).balance += 10;
                    t.join(slow);
                });
            }};
            while (!slow.asked.load()) std::this_thread::yield();
            // Waits long enough for a faulty irrevocable block to abort.
            std::jthread starter{[&] {
                std::this_thread::sleep_for(std::chrono::milliseconds{300});
                slow.may_vote.store(true);
            }};
            int runs = 0;
            atomically(irrevocably, [&](tx& t) {
                ++runs;
                wanted.write(t).balance += 1;
            });
            EXPECT_TRUE(slow.may_vote.load());
            EXPECT_EQ(runs, 1);
        }
        EXPECT_EQ(atomically([&](tx& t) { return wanted.read(t).balance; }), 13);
    }
}

// Catches a token or a reservation that stays behind when a block ends by an exception.
TEST(cluster_irrevocable_blocks, release_everything_on_failure) {
    support::watchdog guard{"release_everything_on_failure"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    const ref<account> a{*nodes[0], at_home(0, 2)}, b{*nodes[0], at_home(1, 2)};
    atomically([&](tx& t) { a.publish(t, {1}), b.publish(t, {1}); });
    for (const bool late : {false, true}) {
        EXPECT_THROW(atomically(late ? options{} : irrevocably,
                                [&](tx& t) {
                                    a.write(t).balance = 7;
                                    if (late) t.become_irrevocable();
                                    b.write(t).balance = 7;
                                    // The undo is a block of its own, and meets the objects that this block holds.
                                    t.on_abort([&] { atomically([&](tx& u) { a.write(u).balance += 1; }); });
                                    throw std::runtime_error{"no"};
                                }),
                     std::runtime_error);
        const ref<account> a_there{*nodes[1], a.id()}, b_there{*nodes[1], b.id()};
        atomically(irrevocably, [&](tx& t) { b_there.write(t).balance += a_there.read(t).balance; });
    }
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance * 100 + b.read(t).balance; }), 306);
}

// Catches an irrevocable block that reads a snapshot of the past.
TEST(cluster_irrevocable_blocks, may_be_read_only) {
    support::watchdog guard{"may_be_read_only"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    const ref<account> a{*nodes[0], at_home(0, 2)}, b{*nodes[0], at_home(1, 2)};
    atomically([&](tx& t) { a.publish(t, {1}), b.publish(t, {1}); });
    int runs = 0, behind = 0;
    const long sum = atomically({.read_only = true}, [&](tx& t) {
        const long first = a.read(t).balance;
        if (++runs == 1) elsewhere([&] { atomically([&](tx& u) { b.write(u).balance = 2; }); });
        t.become_irrevocable();
        ++behind;
        return first + b.read(t).balance;
    });
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(behind, 1);
    EXPECT_EQ(runs, 2) << "of what it had read at an earlier time, nothing can be held";
    EXPECT_EQ(atomically({.read_only = true, .mode = mode::irrevocable}, [&](tx& t) { return b.read(t).balance; }), 2);
}

// Catches a block that takes the tokens of two clusters. Two such blocks deadlock if they take the tokens in opposite
// orders.
TEST(cluster_irrevocable_blocks, use_one_cluster) {
    node first, second;
    const ref<account> a{first, "a"}, b{second, "b"};
    atomically([&](tx& t) { a.publish(t, {0}), b.publish(t, {0}); });
    EXPECT_THROW(atomically(irrevocably,
                            [&](tx& t) {
                                a.write(t).balance = 1;
                                b.write(t).balance = 1;
                            }),
                 usage_error);
    EXPECT_THROW(atomically([&](tx& t) {
                     a.write(t).balance = 1;
                     b.write(t).balance = 1;
                     t.become_irrevocable();
                 }),
                 usage_error);
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance + b.read(t).balance; }), 0);
    for (const ref<account>& one : {a, b}) atomically(irrevocably, [&](tx& t) { one.write(t).balance = 1; });
}

// Catches a block that waits forever when the node of the token, or of an object, is lost.
TEST(cluster_irrevocable_blocks, do_not_wait_for_a_lost_node) {
    support::watchdog guard{"do_not_wait_for_a_lost_node"};
    const unsigned home = token_home(3);
    auto nodes = start_nodes(3, cluster::placement::home);
    const unsigned me = home == 0 ? 1 : 0, other = 3 - home - me;
    const ref<account> mine{*nodes[me], at_home(me, 3)}, its{*nodes[me], at_home(other, 3)};
    atomically([&](tx& t) { mine.publish(t, {1}); });
    atomically([&](tx& t) { its.publish(t, {1}); });
    EXPECT_THROW(atomically(irrevocably,
                            [&](tx& t) {
                                mine.write(t).balance = 2;
                                nodes[other].reset();
                                its.write(t).balance = 2;
                            }),
                 cluster::node_lost);
    EXPECT_EQ(atomically([&](tx& t) { return mine.read(t).balance; }), 1);
    atomically(irrevocably, [&](tx& t) { mine.write(t).balance = 2; });
    // A block that already has the token does not need the token's home any more.
    atomically(irrevocably, [&](tx& t) {
        mine.write(t).balance = 3;
        nodes[home].reset();
        while (!nodes[me]->lost(home)) std::this_thread::yield();
    });
    EXPECT_THROW(atomically(irrevocably, [&](tx& t) { mine.write(t).balance = 4; }), cluster::node_lost);
    EXPECT_EQ(atomically([&](tx& t) { return mine.read(t).balance; }), 3);
}

// Catches irrevocable blocks of several processes that run at the same time. They open the same objects in different
// orders.
TEST(cluster_irrevocable_blocks, do_not_deadlock_across_processes) {
    support::watchdog guard{"do_not_deadlock_across_processes"};
    const process_cluster cluster{3};
    for (const auto& n : cluster.nodes) EXPECT_EQ(n->ask("commit 1"), "done");
    const auto rounds = static_cast<long>(support::rounds(60));
    for (const auto& n : cluster.nodes) n->send("sweep " + std::to_string(rounds));
    for (const auto& n : cluster.nodes) EXPECT_EQ(n->receive(), "done");
    for (const auto& n : cluster.nodes) EXPECT_EQ(n->ask("value"), std::to_string(1 + 3 * rounds));
}

// Catches a token, or an object, that stays locked by a lost node.
TEST(cluster_irrevocable_blocks, release_everything_when_their_node_is_lost) {
    support::watchdog guard{"release_everything_when_their_node_is_lost"};
    // The objects used afterwards are not at home on the lost node.
    unsigned holder = 0, writer = 1;
    const auto fits = [&] {
        const object_id written{"counter of node " + std::to_string(writer)};
        return holder != writer && holder != token_home(3) && cluster::home_of(written, 3) != holder;
    };
    while (!fits()) {
        if (++writer == 3) writer = 0, ++holder;
        ASSERT_LT(holder, 3u);
    }
    for (const bool stopped : {false, true}) {
        process_cluster cluster{3, stopped ? 1000 : 30'000};
        EXPECT_EQ(cluster.nodes[writer]->ask("commit 1"), "done");
        EXPECT_EQ(cluster.nodes[holder]->ask("hold"), "held");
        if (stopped) cluster.nodes[holder]->stop();
        else cluster.nodes[holder]->end(SIGKILL);
        EXPECT_EQ(cluster.nodes[writer]->ask("commit 1"), "done") << "the object is free";
        EXPECT_EQ(cluster.nodes[writer]->ask("bind 1"), "done") << "the token is free";
    }
}

}  // namespace
