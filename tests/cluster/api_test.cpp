// The public API: objects in blocks beside local variables, in one process and between nodes over sockets.
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::node_options;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

struct person {
    std::string name;
    std::vector<int> marks;
    template <class Archive>
    void serialize(Archive& a) {
        a(name, marks);
    }
};

TEST(cluster_objects, are_published_read_written_and_erased) {
    node here;
    const ref<account> alice{here, "alice"};
    EXPECT_THROW(atomically([&](tx& t) { return alice.read(t).balance; }), cluster::no_such_object);
    atomically([&](tx& t) { alice.publish(t, {100}); });
    atomically([&](tx& t) { alice.write(t).balance += 5; });
    EXPECT_EQ(atomically([&](tx& t) { return alice.read(t).balance; }), 105);
    EXPECT_THROW(atomically([&](tx& t) { alice.publish(t, {1}); }), cluster::no_such_object);
    EXPECT_TRUE(atomically([&](tx& t) { return alice.erase(t); }));
    EXPECT_FALSE(atomically([&](tx& t) { return alice.erase(t); }));
    EXPECT_EQ(atomically([&](tx& t) { return alice.find(t) == nullptr; }), true);
}

TEST(cluster_objects, carry_any_serializable_type) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (int i = 0; i < 8; ++i) {  // half of the ids are at home on each node
        const ref<person> a{*nodes[0], {1, static_cast<std::uint64_t>(i)}}, b{*nodes[1], a.id()};
        atomically([&](tx& t) { a.publish(t, {"Ada", {1, 2, 3}}); });
        atomically([&](tx& t) { b.write(t).marks.push_back(4); });
        EXPECT_EQ(atomically([&](tx& t) { return a.read(t).marks; }), (std::vector<int>{1, 2, 3, 4}));
        EXPECT_EQ(atomically([&](tx& t) { return b.read(t).name; }), "Ada");
    }
}

TEST(cluster_objects, refuse_another_type) {
    node here;
    const ref<account> a{here, "x"};
    const ref<person> wrong{here, "x"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    try {
        atomically([&](tx& t) { return wrong.read(t).name; });
        ADD_FAILURE() << "it is read as another type";
    } catch (const cluster::type_mismatch& e) {
        EXPECT_NE(std::string{e.what()}.find("::person: it was published as another type"), std::string::npos)
            << e.what();
    }
    EXPECT_THROW(atomically([&](tx& t) {
                     (void)a.read(t);
                     return wrong.read(t).name;
                 }),
                 cluster::type_mismatch);
}

std::string complaint_of(const std::function<void(tx&)>& block) {
    try {
        atomically([&](tx& t) { block(t); });
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "none";
}

// Catches an erase that ignores the object's type, and an erase that sends an extra message to learn the type.
TEST(cluster_objects, refuse_to_erase_another_type) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (const unsigned at : {0u, 1u}) {
        const ref<account> a{*nodes[0], nodes[0]->id_at(at, {10, 0})};
        const ref<person> wrong{*nodes[0], a.id()};
        const auto refused = [&](const std::function<void(tx&)>& block) {
            EXPECT_NE(complaint_of(block).find("::person: "), std::string::npos) << complaint_of(block);
            EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 1);
        };
        atomically([&](tx& t) { a.publish(t, {1}); });
        refused([&](tx& t) { wrong.erase(t); });
        refused([&](tx& t) {
            (void)a.read(t);
            wrong.erase(t);
        });
        refused([&](tx& t) {
            a.write(t) = {2};
            wrong.erase(t);
        });
        refused([&](tx& t) {
            a.erase(t);
            a.publish(t, {3});
            wrong.erase(t);
        });
        const auto messages = [&](auto&& block) {
            const auto before = nodes[0]->statistics().messages_sent;
            atomically(block);
            return nodes[0]->statistics().messages_sent - before;
        };
        const auto of_write = messages([&](tx& t) { a.write(t) = {4}; });
        EXPECT_EQ(messages([&](tx& t) { EXPECT_TRUE(a.erase(t)); }), of_write);
        atomically([&](tx& t) { EXPECT_FALSE(wrong.erase(t)) << "there is nothing of any type"; });
    }
}

TEST(cluster_objects, are_named_in_error_texts) {
    node here;
    const auto missing = [&](const ref<account>& r) { return complaint_of([&](tx& t) { (void)r.read(t); }); };
    const std::string end = "; publish it first, or use find";
    EXPECT_EQ(missing({here, {7, 0x2a}}), "tutti: there is no object 0000000000000007:000000000000002a" + end);
    EXPECT_EQ(missing({here, "alice"}), "tutti: there is no object 'alice' (328368115083d94f:7081448bd6c20eef)" + end);
    const std::string name = "accounts/of/the/north/alice";
    EXPECT_NE(missing({here, name}).find("no object '" + name + "' ("), std::string::npos);
    EXPECT_NE(missing({here, name + "/and/her/children"}).find("no object '" + name + "/an...' ("), std::string::npos);
    EXPECT_NE(missing({here, name + "/a\u00e4"}).find("no object '" + name + "/a...' ("), std::string::npos);
    EXPECT_NE(missing({here, "two\nlines"}).find("no object 'two?lines' ("), std::string::npos);

    const ref<account> a{here, name};
    const ref<person> wrong{here, name};
    atomically([&](tx& t) { a.publish(t, {1}); });
    for (const auto& said :
         {complaint_of([&](tx& t) { a.publish(t, {1}); }), complaint_of([&](tx& t) { (void)wrong.read(t); })})
        EXPECT_NE(said.find("object '" + name + "' ("), std::string::npos) << said;
}

// Catches a companion that is not told when a block leaves by an exception, or that keeps the block's writes.
TEST(cluster_objects, are_rolled_back_with_local_variables) {
    node here;
    const ref<account> a{here, "a"};
    var<long> local{0};
    atomically([&](tx& t) { a.publish(t, {1}); });
    EXPECT_THROW(atomically([&](tx& t) {
                     a.write(t).balance = 7;
                     local.set(t, 7);
                     throw std::runtime_error{"no"};
                 }),
                 std::runtime_error);
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 1);
    EXPECT_EQ(local.load(), 0);
}

// Catches a roll-back of a nested block that keeps its writes, or also drops the writes of the block around it.
TEST(cluster_objects, roll_back_with_their_nested_block) {
    node here;
    const ref<account> a{here, "a"}, b{here, "b"};
    atomically([&](tx& t) {
        a.publish(t, {1});
        (void)try_atomically([&](tx& u) {
            a.write(u).balance = 2;
            b.publish(u, {3});
            cancel(u);
        });
        EXPECT_EQ(a.read(t).balance, 1);
        EXPECT_EQ(b.find(t), nullptr);
        atomically([&](tx& u) { a.write(u).balance = 4; });
    });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 4);
    EXPECT_EQ(atomically([&](tx& t) { return b.find(t) == nullptr; }), true);
}

// Catches a companion that leaves with the nested block in which it joined. Then the reads of that block are not
// validated, and later writes are lost.
TEST(cluster_objects, stay_joined_when_the_joining_block_rolls_back) {
    node here;
    const ref<account> a{here, "a"};
    atomically([&](tx& t) { a.publish(t, {1}); });
    var<long> local{0};
    int runs = 0;
    atomically([&](tx& t) {
        long seen = 0;
        (void)try_atomically([&](tx& u) {
            seen = a.read(u).balance;
            cancel(u);
        });
        if (++runs == 1) std::thread{[&] { atomically([&](tx& u) { a.write(u).balance = 2; }); }}.join();
        local.set(t, seen);
    });
    EXPECT_EQ(local.load(), 2);
    EXPECT_EQ(runs, 2);
    atomically([&](tx& t) {
        (void)try_atomically([&](tx& u) {
            (void)a.read(u);
            cancel(u);
        });
        a.write(t).balance = 9;
    });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 9);
}

// Two clusters in one block. An object that is only read in one cluster orders the block among commits in the other.
TEST(cluster_objects, have_one_order_across_two_clusters) {
    node first, second;
    const ref<account> a{first, "a"}, b{second, "b"};
    atomically([&](tx& t) { a.publish(t, {0}); });
    atomically([&](tx& t) { b.publish(t, {0}); });
    int runs = 0;
    atomically([&](tx& t) {
        const long seen = a.read(t).balance;
        b.write(t).balance = seen + 1;
        if (++runs == 1) {
            std::thread{[&] { atomically([&](tx& u) { a.write(u).balance = 7; }); }}.join();
        }
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(atomically([&](tx& t) { return b.read(t).balance; }), 8);
}

// Catches a local snapshot that moves without the objects. x and y are always written together: x here, y on any node.
TEST(cluster_opacity, spans_local_variables_and_objects) {
    support::watchdog guard{"spans_local_variables_and_objects"};
    for (const cluster::placement where : {cluster::placement::home, cluster::placement::writer}) {
        const auto nodes = start_nodes(2, where);
        var<long> x{0};
        const ref<account> y{*nodes[0], "y"};
        // The other node copies the first object to a second one, so a value that depends on y arrives here by another
        // path.
        const ref<account> y_there{*nodes[1], "y"}, z_there{*nodes[1], "z"}, z{*nodes[0], "z"};
        atomically([&](tx& t) {
            y.publish(t, {0});
            z.publish(t, {0});
        });
        std::atomic<bool> stop{false};
        std::atomic<int> wrong{0};
        std::vector<std::thread> readers;
        for (int i = 0; i < 4; ++i) {
            readers.emplace_back([&, i] {
                const options how{.read_only = i >= 2};  // a read-only block is a snapshot reader
                while (!stop.load()) {
                    atomically(how, [&](tx& t) {
                        long a = 0, b = 0, c = 0;
                        if (i % 2 == 0) {
                            a = x.get(t);
                            b = y.read(t).balance;
                            c = z.read(t).balance;
                        } else {
                            c = z.read(t).balance;
                            b = y.read(t).balance;
                            a = x.get(t);
                        }
                        // The body sees these values even in an attempt that is later rolled back.
                        if (a != b || c > b) ++wrong;
                    });
                }
            });
        }
        readers.emplace_back([&] {
            while (!stop.load()) atomically([&](tx& t) { z_there.write(t).balance = y_there.read(t).balance; });
        });
        for (std::size_t i = 0; i < support::rounds(4000); ++i) {
            atomically([&](tx& t) {
                x.set(t, x.get(t) + 1);
                y.write(t).balance += 1;
            });
        }
        stop = true;
        for (std::thread& r : readers) r.join();
        EXPECT_EQ(wrong.load(), 0);
        EXPECT_EQ(atomically([&](tx& t) { return y.read(t).balance; }), x.load());
    }
}

// Catches lost updates and partial commits between nodes.
TEST(cluster_bank, keeps_its_money) {
    support::watchdog guard{"keeps_its_money"};
    for (const cluster::placement where : {cluster::placement::home, cluster::placement::writer}) {
        const auto nodes = start_nodes(3, where);
        constexpr std::uint64_t accounts = 12;
        constexpr long each = 100;
        for (std::uint64_t i = 0; i < accounts; ++i) {
            atomically([&](tx& t) { ref<account>{*nodes[i % 3], {7, i}}.publish(t, {each}); });
        }
        std::atomic<int> wrong{0};
        std::vector<std::thread> tellers;
        for (unsigned n = 0; n < 6; ++n) {
            tellers.emplace_back([&, n] {
                node& mine = *nodes[n % 3];
                support::random dice{n + 1};
                for (std::size_t k = 0; k < support::rounds(150); ++k) {
                    if (dice.one_in(5)) {
                        const long sum = atomically([&](tx& t) {
                            long all = 0;
                            for (std::uint64_t i = 0; i < accounts; ++i)
                                all += ref<account>{mine, {7, i}}.read(t).balance;
                            return all;
                        });
                        if (sum != static_cast<long>(accounts) * each) ++wrong;
                        continue;
                    }
                    const ref<account> from{mine, {7, dice.below(accounts)}}, to{mine, {7, dice.below(accounts)}};
                    atomically([&](tx& t) {
                        prefetch(t, from, to);
                        from.write(t).balance -= 1;
                        to.write(t).balance += 1;
                    });
                }
            });
        }
        for (std::thread& t : tellers) t.join();
        EXPECT_EQ(wrong.load(), 0);
        long sum = 0;
        atomically([&](tx& t) {
            sum = 0;
            for (std::uint64_t i = 0; i < accounts; ++i) sum += ref<account>{*nodes[0], {7, i}}.read(t).balance;
        });
        EXPECT_EQ(sum, static_cast<long>(accounts) * each);
    }
}

// Catches an owner that forgets a version that a reader may still request, and a reader that validates needlessly.
TEST(cluster_snapshots, are_never_overtaken_by_writers) {
    support::watchdog guard{"are_never_overtaken_by_writers"};
    for (const cluster::placement where : {cluster::placement::home, cluster::placement::writer}) {
        const auto nodes = start_nodes(3, where);
        constexpr std::uint64_t accounts = 6;
        constexpr long each = 100;
        for (std::uint64_t i = 0; i < accounts; ++i)
            atomically([&](tx& t) { ref<account>{*nodes[0], {8, i}}.publish(t, {each}); });
        std::atomic<bool> stop{false};
        std::vector<std::thread> writers;
        for (unsigned n = 0; n < 3; ++n) {
            writers.emplace_back([&, n] {
                support::random dice{n + 1};
                while (!stop.load()) {
                    const ref<account> from{*nodes[n], {8, dice.below(accounts)}},
                        to{*nodes[n], {8, dice.below(accounts)}};
                    atomically([&](tx& t) {
                        from.write(t).balance -= 1;
                        to.write(t).balance += 1;
                    });
                }
            });
        }
        for (std::size_t k = 0; k < support::rounds(300); ++k) {
            const long sum = atomically({.read_only = true}, [&](tx& t) {
                long all = 0;
                for (std::uint64_t i = 0; i < accounts; ++i)
                    all += ref<account>{*nodes[k % 3], {8, i}}.read(t).balance;  // one trip after another
                return all;
            });
            EXPECT_EQ(sum, static_cast<long>(accounts) * each);
        }
        stop = true;
        for (std::thread& t : writers) t.join();
        for (const auto& n : nodes) EXPECT_EQ(n->statistics().read_only_aborts, 0u);
    }
}

TEST(cluster_snapshots, refuse_writes) {
    node here;
    const ref<account> a{here, "a"};
    EXPECT_THROW(atomically({.read_only = true}, [&](tx& t) { a.publish(t, {1}); }), usage_error);
}

/// Returns objects that the first node has to request from node `at`. Opening an object of another node costs a trip.
std::vector<ref<account>> objects_at(const std::vector<std::unique_ptr<node>>& nodes, unsigned at, std::size_t count) {
    std::vector<ref<account>> there;
    for (std::uint64_t i = 0; there.size() < count; ++i) {
        const auto before = nodes[at]->statistics().round_trips;
        atomically([&](tx& t) { (void)ref<account>{*nodes[at], {9, i}}.find(t); });
        if (nodes[at]->statistics().round_trips == before) there.push_back({*nodes[0], {9, i}});
    }
    for (const ref<account>& one : there) atomically([&](tx& t) { one.publish(t, {1}); });
    return there;
}

/// Changes the object in a transaction of another node.
void overtake(node& by, const ref<account>& one) {
    std::thread{[&] { atomically([&](tx& t) { ref<account>{by, one.id()}.write(t).balance += 1; }); }}.join();
}

TEST(cluster_homes, are_the_same_for_all_nodes) {
    const auto nodes = start_nodes(3, cluster::placement::home);
    std::set<std::pair<std::uint64_t, std::uint64_t>> different;
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto at = static_cast<unsigned>(i % 3);
        const cluster::object_id id = nodes[0]->id_at(at, {7, i});
        EXPECT_EQ(id, nodes[2]->id_at(at, {7, i}));
        EXPECT_EQ(nodes[1]->home(id), at);
        EXPECT_EQ(id.high, 7u);
        EXPECT_EQ(id.low & 0xffff'ffff'ffffu, i);
        different.emplace(id.high, id.low);
    }
    EXPECT_EQ(different.size(), 100u);
    EXPECT_THROW(static_cast<void>(nodes[0]->id_at(3, {1, 1})), usage_error);
    EXPECT_THROW(static_cast<void>(nodes[0]->id_at(0, {1, std::uint64_t{1} << 48})), usage_error);
    const node alone;
    EXPECT_EQ(alone.id_at(0, {1, 5}), (cluster::object_id{1, 5}));
}

TEST(cluster_homes, open_their_objects_without_a_round_trip) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (std::uint64_t i = 0; i < 8; ++i) {
        const ref<account> one{*nodes[1], nodes[1]->id_at(1, {1, i})};
        atomically([&](tx& t) { one.publish(t, {1}); });
        atomically([&](tx& t) { one.write(t).balance += 1; });
    }
    EXPECT_EQ(nodes[1]->statistics().round_trips, 0u);
}

TEST(cluster_round_trips, are_two_for_many_objects_with_duplicates) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    std::vector<ref<account>> all;
    for (std::uint64_t i = 0; i < 300; ++i) all.push_back({*nodes[0], nodes[0]->id_at(i % 2, {1, i % 200})});
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < 200; ++i) all[i].publish(t, {1});
    });
    const auto before = nodes[0]->statistics().round_trips;
    EXPECT_TRUE(try_atomically([&](tx& t) {
        if (t.attempt() > 1) cancel(t);
        prefetch(t, all);
        for (const auto& r : all) ++r.write(t).balance;
    })) << "one that is opened twice is in its own way";
    EXPECT_EQ(nodes[0]->statistics().round_trips - before, 2u) << "to open them, and to commit";
    const long sum = atomically([&](tx& t) {
        long found = 0;
        for (std::size_t i = 0; i < 200; ++i) found += all[i].read(t).balance;
        return found;
    });
    EXPECT_EQ(sum, 200 + 300);
}

// Two objects on one other node take one trip to fetch both, and one trip to commit both.
TEST(cluster_round_trips, are_two_for_a_remote_transfer) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    const auto there = objects_at(nodes, 1, 2);
    const auto before = nodes[0]->statistics().round_trips;
    atomically([&](tx& t) {
        prefetch(t, there[0], there[1]);
        there[0].write(t).balance -= 1;
        there[1].write(t).balance += 1;
    });
    EXPECT_EQ(nodes[0]->statistics().round_trips - before, 2u);
}

// Catches objects that are fetched one by one on the second run, and a partial re-run that fetches objects it kept.
TEST(cluster_round_trips, are_combined_in_the_next_attempt) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    const auto there = objects_at(nodes, 1, 5);
    for (const bool partly : {false, true}) {
        int outer = 0, inner = 0;
        std::uint64_t trips = 0;
        atomically([&](tx& t) {
            ++outer;
            (void)there[0].read(t);
            checkpoint(t, [&](tx& c) {
                ++inner;
                const auto before = nodes[0]->statistics().round_trips;
                for (std::size_t i = 1; i < 4; ++i) (void)there[i].read(c);
                trips = nodes[0]->statistics().round_trips - before;
                if (inner != 1) return;
                EXPECT_EQ(trips, 3u);
                overtake(*nodes[1], there[partly ? 2 : 0]);
                overtake(*nodes[1], there[4]);
                (void)there[4].read(c);
            });
        });
        EXPECT_EQ(outer, partly ? 1 : 2);
        EXPECT_EQ(inner, 2);
        EXPECT_EQ(trips, partly ? 1u : 0u);  // a full re-run fetches all objects together with the first one
    }
}

// Catches an error for an object that only the previous attempt needed.
TEST(cluster_round_trips, skip_unneeded_nodes_in_the_next_attempt) {
    support::watchdog guard{"skip_unneeded_nodes_in_the_next_attempt"};
    auto nodes = start_nodes(3, cluster::placement::home);
    const auto leaves = objects_at(nodes, 2, 1), stays = objects_at(nodes, 1, 2);
    int runs = 0;
    atomically([&](tx& t) {
        if (++runs == 1) {
            (void)leaves[0].read(t);
            (void)stays[0].read(t);
            overtake(*nodes[1], stays[0]);
            overtake(*nodes[1], stays[1]);
        } else {
            std::thread{[&] { nodes[2].reset(); }}.join();
        }
        (void)stays[1].read(t);
    });
    EXPECT_EQ(runs, 2);
}

// Catches an error that names a running node that was asked at the same time as the lost node.
TEST(cluster_failure, names_the_lost_node) {
    support::watchdog guard{"names_the_lost_node"};
    auto nodes = start_nodes(4, cluster::placement::home);
    const auto before = objects_at(nodes, 1, 1), leaves = objects_at(nodes, 2, 1), behind = objects_at(nodes, 3, 1);
    nodes[2].reset();
    try {
        atomically([&](tx& t) { prefetch(t, before[0], leaves[0], behind[0]); });
        ADD_FAILURE() << "an object of a lost node was opened";
    } catch (const cluster::node_lost& e) {
        EXPECT_EQ(e.node(), 2u) << e.what();
    }
}

// Catches a body that swallows the error and continues with variables of a later state than its objects.
TEST(cluster_failure, leaves_no_torn_state_after_a_swallowed_error) {
    support::watchdog guard{"leaves_no_torn_state_after_a_swallowed_error"};
    auto nodes = start_nodes(2, cluster::placement::home);
    const auto here = objects_at(nodes, 0, 1), leaves = objects_at(nodes, 1, 1);
    var<long> beside{1};
    int runs = 0;
    const auto seen = atomically([&](tx& t) {
        if (++runs == 1) (void)leaves[0].read(t);
        const long object = here[0].read(t).balance;
        if (runs == 1) {
            nodes[1].reset();
            std::thread{[&] {
                atomically([&](tx& u) {
                    here[0].write(u).balance = 2;
                    beside.set(u, 2);
                });
            }}.join();
        }
        try {
            (void)beside.get(t);
        } catch (const cluster::node_lost&) {}
        return std::pair{beside.get(t), object};
    });
    EXPECT_EQ(seen.first, seen.second);
    EXPECT_EQ(runs, 2);
}

// Catches an endless wait for a lost node.
TEST(cluster_failure, reports_a_lost_node) {
    support::watchdog guard{"reports_a_lost_node"};
    auto nodes = start_nodes(2, cluster::placement::home);
    std::vector<ref<account>> all;
    for (std::uint64_t i = 0; i < 16; ++i) {
        all.push_back({*nodes[0], {3, i}});
        atomically([&](tx& t) { all.back().publish(t, {1}); });
    }
    nodes[1].reset();
    unsigned lost = 0, there = 0;
    for (const ref<account>& a : all) {
        // A write of an object of node 1 also fails if node 0 notices the end of the connection only during the write.
        try {
            atomically([&](tx& t) { a.write(t).balance += 1; });
            ++there;
        } catch (const cluster::node_lost& e) {
            EXPECT_EQ(e.node(), 1u);
            EXPECT_NE(std::string{e.what()}.find("node 1"), std::string::npos);
            ++lost;
        }
    }
    EXPECT_GT(lost, 0u);
    EXPECT_GT(there, 0u);
}

TEST(cluster_options, refuse_invalid_values_with_advice) {
    const auto message = [](node_options how) {
        how.connect_timeout = std::chrono::milliseconds{50};
        try {
            node n{how};
        } catch (const cluster::connection_error& e) {
            return std::string{e.what()};
        }
        return std::string{};
    };
    const std::string here = "unix:" + ::testing::TempDir() + "tutti-options-" + std::to_string(::getpid());
    EXPECT_NE(message({.addresses = {"10.0.0.1:7000", "127.0.0.1:1"}}).find("TUTTI_CLUSTER_CERTIFICATE"),
              std::string::npos);
    EXPECT_NE(message({.addresses = {"0.0.0.0:7000", "127.0.0.1:1"}}).find("beyond loopback"), std::string::npos);
    EXPECT_NE(message({.addresses = {"example", "127.0.0.1:1"}}).find("host:port"), std::string::npos);
    EXPECT_NE(message({.addresses = {"127.0.0.1:99999", "127.0.0.1:1"}}).find("host:port"), std::string::npos);
    EXPECT_NE(message({.node_number = 2, .addresses = {here + "a", here + "b"}}).find("not one of the 2"),
              std::string::npos);
    EXPECT_NE(message({.addresses = {here, here}}).find("two nodes"), std::string::npos);
    EXPECT_NE(message({.addresses = {here + "a", here + "b"}}).find("did not connect"), std::string::npos);
    EXPECT_NE(message({.addresses = {"unix:/nonexistent/a", here}}).find("cannot listen"), std::string::npos);
}

}  // namespace
