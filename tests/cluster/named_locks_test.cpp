// Abstract locks by name: at their home, message by message, and between nodes.
#include <atomic>
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
#include "cluster/raw_peer.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

struct roll_back : std::runtime_error {
    roll_back() : std::runtime_error{"rolled back"} {}
};

/// Some of these names are at home on this node, and the others on another node.
const std::string named_lock_table_test[] = {"a", "b", "c", "d"};

// Catches a lock that is local to one node, a lock that is released before the outermost block ends, and a lock that is
// never released. Two operations on one object, and their undo actions, do not commute. Both run under one name. The
// owner of the name therefore finds the object as a whole number of blocks has left it.
TEST(cluster_named_locks, are_held_until_the_outermost_block_ends) {
    support::watchdog guard{"are_held_until_the_outermost_block_ends"};
    const long rounds = static_cast<long>(support::rounds(60));
    for (const std::string& name : named_lock_table_test) {
        const auto nodes = start_nodes(2, cluster::placement::home);
        const ref<account> total{*nodes[0], name};
        atomically([&](tx& t) { total.publish(t, {0}); });
        std::atomic<int> inside{0}, met{0};
        const auto work = [&](const node& here, long who) {
            const ref<account> mine{here, name};
            for (long i = 0; i < rounds; ++i) {
                const bool fails = (i + who) % 3 == 0;
                // Balances are even except in the middle of a block.
                const auto step = [&](tx& t) {
                    cluster::open_nested(
                        t, here, {{name}},
                        [&](tx& in) {
                            account& a = mine.write(in);
                            if (++a.balance % 2 == 0) a.balance += 1000000;
                        },
                        [mine](tx& u) { --mine.write(u).balance; });
                };
                try {
                    atomically([&](tx& t) {
                        cluster::acquire(t, here, {{name}});
                        if (inside.fetch_add(1) != 0) ++met;
                        struct leave {
                            std::atomic<int>& count;
                            ~leave() { --count; }
                        } const left{inside};
                        step(t);
                        if (fails) throw roll_back{};
                        cluster::open_nested(
                            t, here, {{name}}, [&](tx& in) { ++mine.write(in).balance; },
                            [mine](tx& u) { --mine.write(u).balance; });
                    });
                } catch (const roll_back&) {}
            }
        };
        std::vector<std::thread> threads;
        for (long i = 0; i < 4; ++i) threads.emplace_back(work, std::cref(*nodes[static_cast<std::size_t>(i) % 2]), i);
        for (std::thread& t : threads) t.join();
        EXPECT_EQ(met.load(), 0);
        EXPECT_EQ(atomically([&](tx& t) { return total.read(t).balance; }), 2 * (4 * rounds - 4 * rounds / 3)) << name;
    }
}

// Catches shared holders that exclude each other, and an exclusive owner that does not exclude shared holders.
TEST(cluster_named_locks, are_shared_among_sharing_claims) {
    support::watchdog guard{"are_shared_among_sharing_claims"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const std::string& name : named_lock_table_test) {
        std::atomic<int> attempts{0};
        std::thread writer;
        atomically([&](tx& t) {
            cluster::acquire(t, *nodes[0], {{name, true}});
            std::thread{[&] { atomically([&](tx& r) { cluster::acquire(r, *nodes[1], {{name, true}}); }); }}.join();
            if (writer.joinable()) return;
            writer = std::thread{[&] {
                atomically([&](tx& w) {
                    ++attempts;
                    cluster::acquire(w, *nodes[1], {{name}});
                });
            }};
            while (attempts.load() < 3) std::this_thread::yield();
        });
        writer.join();
        EXPECT_GE(attempts.load(), 3) << name;
    }
}

// Catches deadlocks: every block takes the names in an order of its own.
TEST(cluster_named_locks, do_not_deadlock_in_any_order) {
    support::watchdog guard{"do_not_deadlock_in_any_order"};
    const auto nodes = start_nodes(3, cluster::placement::home);
    std::atomic<long> ends{0};
    const int rounds = static_cast<int>(support::rounds(50));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 6; ++i) {
        threads.emplace_back([&, i] {
            for (int r = 0; r < rounds; ++r) {
                atomically([&](tx& t) {
                    for (std::size_t n = 0; n < 4; ++n)
                        cluster::acquire(t, *nodes[i % 3],
                                         {{named_lock_table_test[(n * (i % 2 == 0 ? 1 : 3) + i) % 4]}});
                });
                ++ends;
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(ends.load(), 6 * rounds);
}

// Catches an open nested block, or an undo, that waits for the locks of the block around it.
TEST(cluster_named_locks, do_not_conflict_within_one_execution) {
    support::watchdog guard{"do_not_conflict_within_one_execution"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const std::string& name : named_lock_table_test) {
        int attempts = 0, undone = 0;
        EXPECT_THROW(atomically([&](tx& t) {
                         ++attempts;
                         cluster::open_nested(
                             t, *nodes[0], {{name}}, [&](tx& i) { cluster::acquire(i, *nodes[0], {{name}}); },
                             [&](tx& u) {
                                 cluster::acquire(u, *nodes[0], {{name}});
                                 ++undone;
                             });
                         throw roll_back{};
                     }),
                     roll_back);
        EXPECT_EQ(attempts, 1);
        EXPECT_EQ(undone, 1);
        // After the block, the name is free.
        atomically([&](tx& t) { cluster::acquire(t, *nodes[1], {{name}}); });
    }
}

// A block that has lost the home of one of its locks must not commit, because another block may have acquired that
// lock. Catches a block that commits nevertheless.
TEST(cluster_named_locks, are_lost_with_their_home) {
    support::watchdog guard{"are_lost_with_their_home"};
    auto nodes = start_nodes(2, cluster::placement::home);
    std::string here, there;  // names with their home on nodes 0 and 1
    for (int i = 0; here.empty() || there.empty(); ++i) {
        const std::string name = std::to_string(i);
        // A lock whose home is the other node costs a trip.
        const std::uint64_t before = nodes[0]->statistics().round_trips;
        atomically([&](tx& t) { cluster::acquire(t, *nodes[0], {{name}}); });
        (nodes[0]->statistics().round_trips == before ? here : there) = name;
    }
    std::atomic<bool> taken{false}, gone{false};
    std::thread holder{[&] {
        try {
            atomically([&](tx& t) {
                cluster::acquire(t, *nodes[0], {{there}});
                taken.store(true);
                while (!nodes[0]->lost(1)) std::this_thread::yield();
            });
        } catch (const cluster::node_lost& e) {
            gone.store(e.node() == 1);
        }
    }};
    while (!taken.load()) std::this_thread::yield();
    nodes[1].reset();
    holder.join();
    EXPECT_TRUE(gone.load()) << "a block that has lost a lock does not commit";
    EXPECT_THROW(atomically([&](tx& t) { cluster::acquire(t, *nodes[0], {{there}}); }), cluster::node_lost);
    atomically([&](tx& t) { cluster::acquire(t, *nodes[0], {{here}}); });
}

// Catches locks of a lost node that are never released.
TEST(cluster_named_locks, are_freed_when_the_holder_is_lost) {
    support::watchdog guard{"are_freed_when_the_holder_is_lost"};
    cluster::object_id name{1, 1};
    while (cluster::home_of(name, 2) != 0) ++name.low;
    const std::string prefix = "unix:" + ::testing::TempDir() + "tutti-names-" + std::to_string(::getpid()) + "-";
    const cluster::node_options how{.addresses = {prefix + "0", prefix + "1"},
                                    .failure_timeout = std::chrono::seconds{30}};
    std::unique_ptr<cluster::testing::raw_peer> other;
    std::thread calls{[&] {
        other = std::make_unique<cluster::testing::raw_peer>(how.addresses[0]);
        other->send_hello(how, 1);
    }};
    const node here{how};
    calls.join();
    const wire::transaction_name who{.node = 1, .slot = 0, .sequence = 1};
    other->send({.type = wire::message_type::claim, .from = 1, .call = 7},
                wire::encode(wire::claim{who, who, 0, {{name, false}}}));
    wire::header h;
    std::string body;
    while (h.type != wire::message_type::claim_reply) ASSERT_TRUE(other->receive(h, body));
    wire::claim_reply answer;
    ASSERT_TRUE(wire::decode(body, answer));
    EXPECT_EQ(answer.granted, 1u);
    unsigned attempts = 0;
    atomically([&](tx& t) {
        if (++attempts == 2) other.reset();
        cluster::acquire(t, here, {{name}});
    });
    EXPECT_GE(attempts, 2u);
}

TEST(cluster_named_locks, are_refused_by_engines_without_locks) {
    const node here;
    EXPECT_THROW(atomically([&](tx& t) {
                     t.become_irrevocable();
                     cluster::acquire(t, here, {{"a"}});
                 }),
                 usage_error);
    // A block that has a lock may become irrevocable, and may use objects.
    const ref<account> object{here, "a"};
    atomically([&](tx& t) {
        cluster::acquire(t, here, {{"a"}});
        t.become_irrevocable();
        object.publish(t, {1});
    });
    EXPECT_EQ(atomically([&](tx& t) { return object.read(t).balance; }), 1);
    const node engine{cluster::engine_options{.address = "memory:"}};
    EXPECT_THROW(atomically([&](tx& t) { cluster::acquire(t, engine, {{"a"}}); }), usage_error);
}

}  // namespace
