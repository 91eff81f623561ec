// Observers of a node: who may ask, which questions they may ask, and what happens on other messages. The observers are
// sockets of this test.
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/processes.hpp"
#include "cluster/raw_peer.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster;
using namespace tutti::cluster::testing;

/// Two nodes of this process.
struct two_nodes {
    explicit two_nodes(std::chrono::milliseconds failure_timeout = std::chrono::seconds{30}) {
        how.addresses = some_addresses(2);
        how.failure_timeout = failure_timeout;
        std::thread other{[this] {
            node_options mine = how;
            mine.node_number = 1;
            second = std::make_unique<node>(mine);
        }};
        first = std::make_unique<node>(how);
        other.join();
    }
    [[nodiscard]] std::unique_ptr<raw_peer> observer() const {
        auto o = std::make_unique<raw_peer>(how.addresses[0]);
        o->send_hello(how, wire::observer_number);
        EXPECT_TRUE(o->receives_hello());
        return o;
    }

    node_options how;
    std::unique_ptr<node> first, second;
};

TEST(cluster_observers, receive_the_status_of_the_node) {
    support::watchdog guard{"receive_the_status_of_the_node"};
    const two_nodes both;
    const ref<long> a{*both.first, "a"};
    for (int i = 0; i < 5; ++i) {
        atomically([&](tx& t) {
            if (a.find(t) == nullptr) a.publish(t, 1);
            else a.write(t) += 1;
        });
    }
    const auto o = both.observer();
    for (int again = 0; again < 3; ++again) {
        o->ask_status();
        const auto told = o->receive_status();
        ASSERT_TRUE(told);
        EXPECT_TRUE(told->admitted);
        const node_status& f = told->status;
        EXPECT_EQ(f.number, 0);
        EXPECT_EQ(f.nodes, 2);
        EXPECT_EQ(f.attempts, 5u);
        EXPECT_EQ(f.commits, 5u);
        EXPECT_EQ(f.clock, both.first->status().clock);
        EXPECT_EQ(f.observers, 1u);
        ASSERT_EQ(f.peers.size(), 2u);
        EXPECT_EQ(f.peers[0].state, peer_state::self);
        EXPECT_EQ(f.peers[1].state, peer_state::connected);
    }
    EXPECT_EQ(both.first->status().objects + both.second->status().objects, 1u);
}

// Catches counters that are read while their owner changes them (by the sanitizer), and counts that get lost.
TEST(cluster_observers, may_ask_while_blocks_run) {
    support::watchdog guard{"may_ask_while_blocks_run"};
    const two_nodes both;
    constexpr std::uint64_t blocks = 100;
    std::vector<std::thread> threads;
    for (node* const n : {both.first.get(), both.second.get()}) {
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back([n, i] {
                const ref<long> a{*n, "a" + std::to_string(i)};
                for (std::uint64_t b = 0; b < blocks; ++b) {
                    atomically([&](tx& t) {
                        if (a.find(t) == nullptr) a.publish(t, 1);
                        else a.write(t) += 1;
                    });
                }
            });
        }
    }
    const auto o = both.observer();
    for (std::uint64_t commits = 0; commits < 2 * blocks;) {
        o->ask_status();
        const auto told = o->receive_status();
        ASSERT_TRUE(told);
        EXPECT_GE(told->status.commits, commits);
        commits = told->status.commits;
    }
    for (std::thread& t : threads) t.join();
    const node_status f = both.first->status();
    EXPECT_EQ(f.attempts, std::accumulate(f.rolled_back.begin(), f.rolled_back.end(), f.commits));
    EXPECT_EQ(f.commits, 2 * blocks);
}

// Catches a node that takes the clock of an observer's message. One question would then change its clock for good.
TEST(cluster_observers, move_no_clock) {
    support::watchdog guard{"move_no_clock"};
    const two_nodes both;
    const auto o = both.observer();
    o->send(
        {.type = wire::message_type::status, .from = wire::observer_number, .clock = 1'000'000, .oldest = 1'000'000});
    const auto told = o->receive_status();
    ASSERT_TRUE(told);
    EXPECT_LT(told->status.clock, 1'000'000u);
    EXPECT_LT(both.first->status().clock, 1'000'000u);
}

// Catches an observer that locks objects or moves the clock with messages that only nodes may send.
TEST(cluster_observers, are_disconnected_for_other_messages) {
    support::watchdog guard{"are_disconnected_for_other_messages"};
    const two_nodes both;
    std::uint64_t cut_off = 0;
    for (int k = 0; k < 14; ++k) {
        if (static_cast<wire::message_type>(k) == wire::message_type::status) continue;
        const auto o = both.observer();
        o->send({.type = static_cast<wire::message_type>(k), .from = wire::observer_number, .clock = 1'000'000});
        EXPECT_FALSE(o->receive_status()) << k;
        ++cut_off;
    }
    for (const wire::header& h :
         {wire::header{.type = wire::message_type::status, .from = 1},  // sent as a node
          wire::header{.type = wire::message_type::status, .version = 2, .from = wire::observer_number}}) {
        const auto o = both.observer();
        o->send(h);
        o->await_end();
        ++cut_off;
    }
    const auto longer = both.observer();
    longer->send({.type = wire::message_type::status, .from = wire::observer_number}, "a body, though it has none");
    longer->await_end();
    ++cut_off;
    EXPECT_EQ(both.first->status().observers_disconnected, cut_off);
    EXPECT_LT(both.first->status().clock, 1'000'000u);
    EXPECT_FALSE(both.first->lost(1)) << "nodes have nothing to do with it";
    const auto sound = both.observer();
    sound->ask_status();
    EXPECT_TRUE(sound->receive_status()) << "others are answered";
}

// Catches two recordings at a time, a recording that outlives its observer, and a recording that does not start empty.
TEST(cluster_observers, have_one_recording_at_a_time) {
    support::watchdog guard{"have_one_recording_at_a_time"};
    using wire::timeline_order;
    const two_nodes both;
    auto one = both.observer();
    const auto other = both.observer();
    const auto run = [&both] {
        for (int i = 0; i < 16; ++i) {
            const ref<long> a{*both.first, "a" + std::to_string(i)};
            atomically([&](tx& t) { (void)a.find(t); });
        }
    };
    const auto runs_of = [](const wire::timeline_reply& told) {
        return std::ranges::count(told.events, timeline_role::runs, &timeline_event::role);
    };
    run();
    ASSERT_TRUE(one->order(timeline_order::start).value().granted);
    EXPECT_FALSE(other->order(timeline_order::start).value().granted);
    EXPECT_TRUE(other->order(timeline_order::read_clock).value().granted);
    run();
    const auto refused = other->order(timeline_order::take).value();
    EXPECT_FALSE(refused.granted);
    EXPECT_TRUE(refused.events.empty());
    one->ask_status();
    EXPECT_TRUE(one->receive_status()) << "while it records";
    const auto first = one->order(timeline_order::take).value();
    EXPECT_GT(runs_of(first), 0) << "some of sixteen objects are at the other node";
    EXPECT_LT(runs_of(first), 16) << "and others here, whose blocks ask no node";
    run();
    EXPECT_TRUE(one->order(timeline_order::take).value().events.empty()) << "it is over";
    one.reset();
    while (!other->order(timeline_order::start).value().granted) {}
    run();
    EXPECT_EQ(runs_of(other->order(timeline_order::take).value()), runs_of(first));
}

// Catches recording orders that are carried out without validation.
TEST(cluster_observers, are_disconnected_for_invalid_orders) {
    support::watchdog guard{"are_disconnected_for_invalid_orders"};
    const two_nodes both;
    for (const std::string& body : {std::string{"\3"}, std::string{}, std::string{"\0\0", 2}}) {
        const auto o = both.observer();
        o->send({.type = wire::message_type::timeline, .from = wire::observer_number}, body);
        o->await_end();
    }
    EXPECT_EQ(both.first->status().observers_disconnected, 3u);
}

TEST(cluster_observers, do_no_harm_with_random_bytes) {
    support::watchdog guard{"do_no_harm_with_random_bytes"};
    const two_nodes both;
    support::random dice{5};
    for (std::size_t i = 0; i < support::rounds(200); ++i) {
        raw_peer p{both.how.addresses[0]};
        if (dice.one_in(2)) p.send_hello(both.how, wire::observer_number);
        std::string bytes(1 + dice.below(300), '\0');
        for (char& c : bytes) c = static_cast<char>(dice.next());
        p.send(bytes);
    }
    EXPECT_FALSE(both.first->lost(1));
    const auto all = query_nodes({.addresses = both.how.addresses, .timeout = std::chrono::seconds{20}});
    EXPECT_TRUE(all[0].status) << all[0].error;
}

// Catches an unbounded number of observers, and places that are not freed when an observer disconnects.
TEST(cluster_observers, are_limited_in_number) {
    support::watchdog guard{"are_limited_in_number"};
    const two_nodes both;
    std::vector<std::unique_ptr<raw_peer>> all;
    for (unsigned i = 0; i < wire::max_observers; ++i) {
        all.push_back(both.observer());
        all.back()->ask_status();
        ASSERT_TRUE(all.back()->receive_status()) << i;
    }
    const auto one_more = both.observer();
    const auto told = one_more->receive_status();
    ASSERT_TRUE(told);
    EXPECT_FALSE(told->admitted);
    one_more->await_end();
    const auto refused = query_nodes({.addresses = both.how.addresses, .timeout = std::chrono::seconds{20}});
    EXPECT_NE(refused[0].error.find("maximum number of observers"), std::string::npos) << refused[0].error;
    EXPECT_TRUE(refused[1].status) << "the other node has its own";
    EXPECT_EQ(both.first->status().observers_refused, 2u);
    all.clear();
    while (both.first->status().observers != 0) std::this_thread::yield();
    const auto answered = query_nodes({.addresses = both.how.addresses, .timeout = std::chrono::seconds{20}});
    EXPECT_TRUE(answered[0].status) << answered[0].error;
}

// Catches a silent observer that keeps its place for the lifetime of the node.
TEST(cluster_observers, are_disconnected_when_silent) {
    support::watchdog guard{"are_disconnected_when_silent"};
    const two_nodes both{std::chrono::milliseconds{200}};
    const auto o = both.observer();
    o->await_end();
    while (both.first->status().observers != 0) std::this_thread::yield();
}

// Catches an observer that reads no answers, so that the node would have to buffer them.
TEST(cluster_observers, are_disconnected_when_not_reading) {
    support::watchdog guard{"are_disconnected_when_not_reading"};
    const two_nodes both{std::chrono::milliseconds{400}};
    const auto o = both.observer();
    o->ask_status();
    ASSERT_TRUE(o->receive_status()) << "it is admitted";
    const std::string question =
        wire::encode(wire::header{.type = wire::message_type::status, .from = wire::observer_number});
    std::string many;
    for (int i = 0; i < 1000; ++i) many += question;
    o->send(many);
    while (both.first->status().observers != 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_FALSE(both.first->lost(1));
}

// Catches an unknown client that prevents a cluster from forming, and a node that answers observers only after the
// cluster has formed.
TEST(cluster_observers, are_answered_before_all_nodes_connect) {
    support::watchdog guard{"are_answered_before_all_nodes_connect"};
    node_options how{.addresses = some_addresses(2)};
    std::unique_ptr<node> first, second;
    std::thread starter{[&] { first = std::make_unique<node>(how); }};
    {
        node_options others = how;
        others.cluster = "another";
        raw_peer unknown{how.addresses[0]};
        unknown.send_hello(others, wire::observer_number);
        unknown.await_end();
    }
    const auto all = query_nodes({.addresses = how.addresses, .timeout = std::chrono::seconds{20}});
    ASSERT_TRUE(all[0].status) << all[0].error;
    EXPECT_EQ(all[0].status->peers[1].state, peer_state::connecting);
    EXPECT_FALSE(all[1].status);
    node_options mine = how;
    mine.node_number = 1;
    second = std::make_unique<node>(mine);
    starter.join();
    const auto later = query_nodes({.addresses = how.addresses, .timeout = std::chrono::seconds{20}});
    ASSERT_TRUE(later[0].status && later[1].status);
    EXPECT_EQ(later[0].status->peers[1].state, peer_state::connected);
}

TEST(cluster_observers, are_advised_after_wrong_queries) {
    support::watchdog guard{"are_advised_after_wrong_queries"};
    const two_nodes both;
    const auto error = [&](observer_options whom) {
        whom.timeout = std::chrono::seconds{20};
        return query_nodes(whom)[0].error;
    };
    const auto& a = both.how.addresses;
    EXPECT_NE(error({.cluster = "another", .addresses = a}).find("another cluster"), std::string::npos);
    EXPECT_NE(error({.addresses = {a[0]}}).find("another cluster"), std::string::npos);
    EXPECT_NE(error({.addresses = {"unix:/nonexistent/node"}}).find("is it running?"), std::string::npos);
    EXPECT_THROW(static_cast<void>(query_nodes({.addresses = {"nowhere"}})), connection_error);
    EXPECT_TRUE(query_nodes({}).empty());
}

// A socket plays a one-node cluster of another version.
TEST(cluster_versions, are_named_if_they_differ) {
    support::watchdog guard{"are_named_if_they_differ"};
    node_options how{.addresses = some_addresses(2)};
    std::thread other{[&] {
        raw_peer p{how.addresses[0]};
        p.send({.type = wire::message_type::hello, .version = 2, .from = 1}, wire::encode(raw_peer::hello_of(how)));
        p.await_end();
    }};
    std::string said;
    try {
        const node first{how};
    } catch (const connection_error& e) {
        said = e.what();
    }
    other.join();
    const std::string here = "and this one version " + std::to_string(wire::protocol_version);
    EXPECT_NE(said.find("node 1 speaks version 2 of the protocol, " + here), std::string::npos) << said;
}

}  // namespace
