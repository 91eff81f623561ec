// Blocks that sleep until an object changes, on any node.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

// Catches a change of an object that does not wake a sleeper. The object is local or remote, and moves or stays. Each
// of two nodes waits many times for the other's write, and a missed wake-up hangs forever.
TEST(cluster_retry, is_woken_by_a_change_anywhere) {
    support::watchdog guard{"is_woken_by_a_change_anywhere"};
    const long rounds = static_cast<long>(support::rounds(300));
    for (const cluster::placement where : {cluster::placement::home, cluster::placement::writer}) {
        const auto nodes = start_nodes(2, where);
        const ref<account> here{*nodes[0], "ball"}, there{*nodes[1], "ball"};
        atomically([&](tx& t) { here.publish(t, {0}); });
        const auto play = [rounds](const ref<account>& ball, long mine) {
            for (long i = mine; i < 2 * rounds; i += 2) {
                atomically([&](tx& t) {
                    if (ball.read(t).balance != i) retry(t);
                    ball.write(t).balance = i + 1;
                });
            }
        };
        std::thread other{[&] { play(there, 1); }};
        play(here, 0);
        other.join();
        EXPECT_EQ(atomically([&](tx& t) { return there.read(t).balance; }), 2 * rounds);
    }
}

// Catches a watch that is lost because the object does not exist yet or no longer exists.
TEST(cluster_retry, waits_for_creation_and_erasure) {
    support::watchdog guard{"waits_for_creation_and_erasure"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    // Some of these names are at home on each of the two nodes.
    for (const char* const name : {"a", "b", "c", "d", "e", "f"}) {
        const ref<account> here{*nodes[0], name}, there{*nodes[1], name};
        std::thread consumer{[&] {
            atomically([&](tx& t) {
                if (there.find(t) == nullptr) retry(t);
                there.erase(t);
            });
        }};
        atomically([&](tx& t) { here.publish(t, {1}); });
        atomically([&](tx& t) {
            if (here.find(t) != nullptr) retry(t);
        });
        consumer.join();
    }
}

// Catches a block that objects of its earlier alternatives do not wake, and a block that a variable does not wake.
// Catches a block that waits out its time limit although an object has changed.
TEST(cluster_retry, wakes_for_every_alternative_and_deadline) {
    support::watchdog guard{"wakes_for_every_alternative_and_deadline"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    const ref<account> first{*nodes[0], "first"}, second{*nodes[0], "second"}, first_there{*nodes[1], "first"};
    var<long> local{0};
    atomically([&](tx& t) {
        first.publish(t, {0});
        second.publish(t, {0});
    });
    const auto either = [&](std::atomic<int>& attempts) {
        return atomically([&](tx& t) {
            attempts.fetch_add(1);
            return or_else(
                t, [&](tx& in) { return first.read(in).balance == 0 ? (retry(in), 0) : 1; },
                [&](tx& in) { return second.read(in).balance == 0 && local.get(in) == 0 ? (retry(in), 0) : 2; });
        });
    };
    const auto after_a_look = [&](auto change, int expected) {
        std::atomic<int> attempts{0};
        int seen = 0;
        std::thread sleeper{[&] { seen = either(attempts); }};
        while (attempts.load() == 0) std::this_thread::yield();
        change();
        sleeper.join();
        EXPECT_EQ(seen, expected);
    };
    after_a_look([&] { local.store(1); }, 2);
    local.store(0);
    after_a_look([&] { atomically([&](tx& t) { first_there.write(t).balance = 1; }); }, 1);

    std::thread changer{[&] { atomically([&](tx& t) { first_there.write(t).balance = 2; }); }};
    atomically([&](tx& t) {
        // The watchdog's limit is shorter than this wait.
        if (first.read(t).balance != 2) retry_for(t, std::chrono::hours{1});
        EXPECT_EQ(first.read(t).balance, 2);
    });
    changer.join();
    EXPECT_EQ(atomically([&](tx& t) {
                  if (first.read(t).balance == 2) retry_for(t, std::chrono::microseconds{10});
                  return first.read(t).balance;
              }),
              2);
}

// Catches a sleeper that only a change of an object wakes.
TEST(cluster_retry, ends_on_interruption_and_at_its_deadline) {
    support::watchdog guard{"ends_on_interruption_and_at_its_deadline"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    const ref<account> there{*nodes[0], nodes[0]->id_at(1, {0, 1})};
    atomically([&](tx& t) { there.publish(t, {1}); });
    std::atomic<int> attempts{0};
    const auto sleep = [&](const options& how) {
        atomically(how, [&](tx& t) {
            static_cast<void>(there.read(t));
            attempts.fetch_add(1);
            retry(t);
        });
    };
    std::atomic<interruption*> of_sleeper{nullptr};
    std::atomic<bool> raised{false};
    std::thread sleeper{[&] {
        interruption mine;
        of_sleeper.store(&mine);
        EXPECT_THROW(sleep({}), interrupted);
        while (!raised.load()) std::this_thread::yield();
    }};
    while (attempts.load() == 0) std::this_thread::yield();
    of_sleeper.load()->raise();
    raised.store(true);
    sleeper.join();
    EXPECT_THROW(sleep({.deadline = std::chrono::milliseconds{20}, .when_missed = missed_deadline::refuse}),
                 deadline_missed);
}

// Catches a sleeper that waits for a lost node.
TEST(cluster_retry, ends_when_the_owner_is_lost) {
    support::watchdog guard{"ends_when_the_owner_is_lost"};
    auto nodes = start_nodes(2, cluster::placement::home);
    std::vector<ref<account>> all;  // some of them are at home on node 1
    for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h"}) all.emplace_back(*nodes[0], name);
    atomically([&](tx& t) {
        for (const auto& r : all) r.publish(t, {1});
    });
    std::atomic<int> attempts{0};
    std::thread sleeper{[&] {
        EXPECT_THROW(atomically([&](tx& t) {
                         for (const auto& r : all) static_cast<void>(r.read(t));
                         attempts.fetch_add(1);
                         retry(t);
                     }),
                     cluster::node_lost);
    }};
    while (attempts.load() == 0) std::this_thread::yield();
    nodes[1].reset();
    sleeper.join();
}

}  // namespace
