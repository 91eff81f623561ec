// A node joins a cluster that already runs, in place of a lost node, or beside a running node.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/calls.hpp>
#include <tutti/cluster/doubts.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/cluster/status.hpp>
#include <tutti/tutti.hpp>

#include "cli/port.hpp"
#include "cluster/directory/placement.hpp"
#include "cluster/nodes.hpp"
#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/raw_peer.hpp"
#include "support/heap.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::node_options;
using cluster::object_id;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::error_of;

constexpr options irrevocably{.mode = mode::irrevocable};

/// Three nodes. A test can end and restart each of them.
struct trio {
    explicit trio(const char* name, bool over_zeromq = false, cluster::placement where = cluster::placement::home) {
        how.placement = where;
        for (unsigned i = 0; i < 3; ++i) {
            how.addresses.push_back(over_zeromq ? "zmq:127.0.0.1:" + std::to_string(cli::free_port())
                                                : cluster::testing::fresh_address(std::string{"joining-"} + name + "-" +
                                                                                  std::to_string(i)));
        }
        std::vector<std::thread> starters;
        for (unsigned i = 0; i < 3; ++i) {
            starters.emplace_back([this, i] { nodes[i] = std::make_unique<node>(as(i)); });
        }
        for (std::thread& t : starters) t.join();
    }
    [[nodiscard]] node_options as(unsigned number) const {
        node_options mine = how;
        mine.node_number = number;
        return mine;
    }

    node_options how;
    std::unique_ptr<node> nodes[3];
};

/// Adds one to the object, and publishes it first if it does not exist.
void count(tx& x, const ref<account>& in) {
    if (in.find(x) == nullptr) in.publish(x, {1});
    else in.write(x).balance += 1;
}

#if defined(TUTTI_OVER_ZEROMQ)
constexpr std::array over_zeromq{false, true};
#else
constexpr std::array over_zeromq{false};
#endif
class cluster_rejoin_by_transport : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(all, cluster_rejoin_by_transport, ::testing::ValuesIn(over_zeromq),
                         [](const auto& p) { return p.param ? "zeromq" : "sockets"; });

// Each node in turn ends and rejoins. Its objects have ended, all other objects are there, and all nodes can use the
// rejoined node.
TEST_P(cluster_rejoin_by_transport, admits_a_restarted_node) {
    support::watchdog guard{"admits_a_restarted_node"};
    trio t{"let-in", GetParam()};
    for (unsigned round = 0; round < 6; ++round) {
        const unsigned number = round % 3, other = (number + 1) % 3;
        const object_id its = t.nodes[0]->id_at(number, {1, round}), theirs = t.nodes[0]->id_at(other, {2, round});
        atomically([&](tx& x) {
            ref<account>{*t.nodes[other], its}.publish(x, {1});
            ref<account>{*t.nodes[other], theirs}.publish(x, {2});
        });
        t.nodes[number].reset();
        t.nodes[number] = std::make_unique<node>(t.as(number));
        for (const auto& n : t.nodes) {
            const ref<account> had{*n, its}, has{*n, theirs};
            EXPECT_TRUE(atomically([&](tx& x) { return had.find(x) == nullptr; })) << round << " at " << n->number();
            EXPECT_EQ(atomically([&](tx& x) { return has.write(x).balance++; }), 2 + static_cast<long>(n->number()));
            EXPECT_FALSE(n->lost(number));
        }
        atomically([&](tx& x) { ref<account>{*t.nodes[number], its}.publish(x, {3}); });
        EXPECT_EQ(atomically([&](tx& x) { return ref<account>{*t.nodes[other], its}.read(x).balance; }), 3);
    }
}

// With the placement `writer`, an object stays with its owner while its home node is away.
TEST_P(cluster_rejoin_by_transport, finds_objects_homed_at_the_restarted_node) {
    support::watchdog guard{"finds_objects_homed_at_the_restarted_node"};
    trio t{"moved", GetParam(), cluster::placement::writer};
    const object_id kept = t.nodes[0]->id_at(2, {1, 1}), gone = t.nodes[0]->id_at(0, {1, 2});
    atomically([&](tx& x) { ref<account>{*t.nodes[1], kept}.publish(x, {1}); });
    atomically([&](tx& x) { ref<account>{*t.nodes[2], gone}.publish(x, {2}); });
    t.nodes[2].reset();
    t.nodes[2] = std::make_unique<node>(t.as(2));
    for (const auto& n : t.nodes) {
        EXPECT_EQ(atomically([&](tx& x) { return ref<account>{*n, kept}.read(x).balance; }), 1);
        EXPECT_TRUE(atomically([&](tx& x) { return ref<account>{*n, gone}.find(x) == nullptr; }));
    }
    atomically([&](tx& x) { ref<account>{*t.nodes[2], kept}.write(x).balance = 5; });
    EXPECT_EQ(atomically([&](tx& x) { return ref<account>{*t.nodes[0], kept}.read(x).balance; }), 5);
}

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return std::distance(begin(all), end(all));
}

// Catches memory or file descriptors that the other nodes keep for each process that has ended.
TEST_P(cluster_rejoin_by_transport, uses_bounded_memory_over_many_restarts) {
    support::watchdog guard{"uses_bounded_memory_over_many_restarts"};
    constexpr int returns = 60;
    trio t{"often", GetParam()};
    const object_id its = t.nodes[0]->id_at(2, {1, 0});
    const auto come_back = [&](int times) {
        for (int i = 0; i < times; ++i) {
            t.nodes[2].reset();
            t.nodes[2] = std::make_unique<node>(t.as(2));
            for (const auto& n : t.nodes) atomically([&](tx& x) { count(x, {*n, its}); });
        }
    };
    come_back(4);
    const std::int64_t blocks = support::live_blocks.load();
    const std::ptrdiff_t descriptors = open_descriptors();
    come_back(returns);
    // Threads may still hold a few blocks for a moment. A leak of one block for each return would remain.
    while (support::live_blocks.load() >= blocks + returns) std::this_thread::yield();
    while (open_descriptors() >= descriptors + returns) std::this_thread::yield();
}

/// Runs calls of other nodes' servers on the reading thread, and blocks in the first call until the test lets the call
/// continue.
struct slow_server final : cluster::call_handler {
    void run(unsigned, std::uint64_t, cluster::forwarded_call&& what) override {
        began = true;
        if (what.procedure == "first") goes_on.wait(false);
        heard.push_back(std::move(what.procedure));
    }
    void cancel(unsigned, std::uint64_t, bool) override {}
    void on_reply(unsigned, std::uint64_t, cluster::forwarded_reply&&) override {}
    void on_node_lost(unsigned) noexcept override {
        heard.emplace_back("lost");
        over = true;
    }
    std::atomic<bool> began{false}, goes_on{false}, over{false};
    std::vector<std::string> heard;
};

// The last message of a node may be the decision of its last commit, and a prepared participant would wait forever for
// that decision. Catches a node that notices the end of the connection when it sends, and then drops the unread
// messages.
TEST_P(cluster_rejoin_by_transport, delivers_the_last_messages_of_an_ending_node) {
    support::watchdog guard{"delivers_the_last_messages_of_an_ending_node"};
    slow_server server;  // outlives the nodes
    trio t{"last", GetParam()};
    cluster::call_transport& here = *t.nodes[0]->calls();
    here.set_call_handler(&server);
    const auto called = [](const char* name) {
        cluster::forwarded_call what;
        what.procedure = name;
        return what;
    };
    ASSERT_TRUE(t.nodes[1]->calls()->send(0, 1, called("first")));
    while (!server.began) std::this_thread::yield();
    ASSERT_TRUE(t.nodes[1]->calls()->send(0, 2, called("last")));
    t.nodes[1].reset();  // takes a second, because node 0 does not notice the end meanwhile
    for (std::uint64_t number = 1; number < 4; ++number) static_cast<void>(here.send(1, number, called("late")));
    server.goes_on = true;
    server.goes_on.notify_one();
    while (!server.over) std::this_thread::yield();
    EXPECT_EQ(server.heard, (std::vector<std::string>{"first", "last", "lost"}));
    here.set_call_handler(nullptr);
}

// Catches a last decision that gets lost. Catches what a former process leaves behind after its node has rejoined:
// ages, ranks, reservations and holds. Blocks of many policies run at the other nodes and at the new process, and the
// sum stays right.
TEST_P(cluster_rejoin_by_transport, does_not_disturb_blocks_of_any_policy) {
    support::watchdog guard{"does_not_disturb_blocks_of_any_policy"};
    static constexpr policy all[]{policy::patient,    policy::priority, policy::timestamp, policy::suicide,
                                  policy::aggressive, policy::backoff,  policy::karma,     policy::serialize,
                                  policy::deadline,   policy::delay,    policy::yield};
    trio t{"policies", GetParam()};
    const std::array ids{t.nodes[0]->id_at(0, {1, 0}), t.nodes[0]->id_at(1, {1, 1}), t.nodes[0]->id_at(2, {1, 2})};
    const auto sum_at = [&](node& n, tx& x) {
        return ref<account>{n, ids[0]}.read(x).balance + ref<account>{n, ids[1]}.read(x).balance;
    };
    atomically([&](tx& x) {
        for (const unsigned i : {0u, 1u}) ref<account>{*t.nodes[0], ids[i]}.publish(x, {100});
    });
    // Moves 1 from one object to the other. Every second transfer also counts at the node that may be away.
    const auto transfer = [&](node& n, unsigned turn) {
        const options how{.policy = all[turn % std::size(all)], .priority = static_cast<int>(turn % 3)};
        atomically(how, [&](tx& x) {
            EXPECT_EQ(sum_at(n, x), 200);
            if (turn % 2 != 0) count(x, {n, ids[2]});
            ref<account>{n, ids[0]}.write(x).balance -= 1;
            ref<account>{n, ids[1]}.write(x).balance += 1;
        });
    };
    std::atomic<bool> over{false};
    std::array<std::atomic<unsigned>, 4> done{};
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < done.size(); ++w) {
        workers.emplace_back([&, w] {
            for (unsigned turn = 3 * w; !over.load(); ++turn) {
                try {
                    transfer(*t.nodes[w % 2], turn);
                    done[w].fetch_add(1);
                } catch (const cluster::outcome_unknown&) {
                } catch (const cluster::node_lost&) {}
            }
        });
    }
    for (unsigned round = 0; round < 5; ++round) {
        for (unsigned turn = round; turn < round + 2 * std::size(all); ++turn) transfer(*t.nodes[2], turn);
        t.nodes[2].reset();
        t.nodes[2] = std::make_unique<node>(t.as(2));
        for (auto& d : done) {
            const unsigned before = d.load();
            while (d.load() < before + std::size(all)) std::this_thread::yield();
        }
    }
    over.store(true);
    workers.clear();
    for (const auto& n : t.nodes) {
        transfer(*n, 1);
        EXPECT_EQ(atomically([&](tx& x) { return sum_at(*n, x); }), 200);
    }
}

// If only one of the two rejoins, its error names the missing nodes. Both together are admitted.
TEST_P(cluster_rejoin_by_transport, needs_both_of_two_restarted_nodes) {
    support::watchdog guard{"needs_both_of_two_restarted_nodes"};
    trio t{"both", GetParam()};
    const ref<account> theirs{*t.nodes[0], t.nodes[0]->id_at(0, {1, 0})};
    atomically([&](tx& x) { theirs.publish(x, {1}); });
    t.nodes[1].reset();
    t.nodes[2].reset();
    node_options alone = t.as(2);
    alone.connect_timeout = std::chrono::milliseconds{100};
    EXPECT_NE(error_of(alone).find("did not connect within 100 ms: 1 ("), std::string::npos);
    std::thread comes{[&] { t.nodes[1] = std::make_unique<node>(t.as(1)); }};
    t.nodes[2] = std::make_unique<node>(t.as(2));
    comes.join();
    for (const auto& n : t.nodes)
        EXPECT_EQ(atomically([&](tx& x) { return ref<account>{*n, t.nodes[0]->id_at(0, {1, 0})}.read(x).balance; }), 1);
}

// The block that has the token continues without the token's home. All nodes consider that home lost until the block
// has ended.
TEST(cluster_rejoin, waits_for_the_holder_of_the_token) {
    support::watchdog guard{"waits_for_the_holder_of_the_token"};
    trio t{"token"};
    const unsigned home = cluster::home_of(cluster::irrevocable_token, 3), me = (home + 1) % 3;
    const ref<account> mine{*t.nodes[me], t.nodes[me]->id_at(me, {1, 0})};
    atomically([&](tx& x) { mine.publish(x, {1}); });
    const auto home_at = [&](unsigned by) {
        const auto all = cluster::query_nodes({.addresses = t.how.addresses});
        return all[by].status ? all[by].status->peers[home].state : cluster::peer_state::lost;
    };
    std::thread comes;
    atomically(irrevocably, [&](tx& x) {
        mine.write(x).balance = 2;
        t.nodes[home].reset();
        comes = std::thread{[&] { t.nodes[home] = std::make_unique<node>(t.as(home)); }};
        while (home_at(me) != cluster::peer_state::connecting) std::this_thread::yield();
        EXPECT_TRUE(t.nodes[me]->lost(home));
    });
    comes.join();
    EXPECT_EQ(home_at(me), cluster::peer_state::connected);
    for (const auto& n : t.nodes)
        atomically(irrevocably, [&](tx& x) { ref<account>{*n, mine.id()}.write(x).balance++; });
    EXPECT_EQ(atomically([&](tx& x) { return mine.read(x).balance; }), 5);
}

TEST_P(cluster_rejoin_by_transport, explains_an_address_in_use) {
    support::watchdog guard{"explains_an_address_in_use"};
    node_options how;
    for (int i = 0; i < 2; ++i)
        how.addresses.push_back((GetParam() ? "zmq:127.0.0.1:" : "127.0.0.1:") + std::to_string(cli::free_port()));
    std::unique_ptr<node> first, second;
    std::thread comes{[&second, other = how]() mutable {
        other.node_number = 1;
        second = std::make_unique<node>(other);
    }};
    first = std::make_unique<node>(how);
    comes.join();
    const std::string said = error_of(how);
    EXPECT_NE(
        said.find("cannot listen on " + how.addresses[0] + ": Address already in use; end the program that uses it"),
        std::string::npos)
        << said;
}

// The running nodes notice neither a second process with the number of a running node, nor a refused return.
TEST(cluster_rejoin, does_not_disturb_running_nodes) {
    support::watchdog guard{"does_not_disturb_running_nodes"};
    trio t{"beside"};
    const ref<account> theirs{*t.nodes[0], t.nodes[0]->id_at(2, {1, 0})};
    atomically([&](tx& x) { theirs.publish(x, {1}); });
    const std::string there = t.how.addresses[2].substr(5), away = there + "-away";
    // The second process gets the address of the first, as on another machine.
    ASSERT_EQ(::rename(there.c_str(), away.c_str()), 0);
    node_options second = t.as(2);
    second.connect_timeout = std::chrono::milliseconds{200};
    const std::string said = error_of(second);
    EXPECT_NE(said.find("give this one a number of its own"), std::string::npos) << said;
    ASSERT_EQ(::rename(away.c_str(), there.c_str()), 0);
    EXPECT_NE(error_of(t.as(2)).find("cannot listen"), std::string::npos);
    atomically([&](tx& x) { theirs.write(x).balance += 1; });
    EXPECT_EQ(atomically([&](tx& x) { return theirs.read(x).balance; }), 2);
}

/// Two real nodes, and a third one that sends the messages of the test and then ends.
struct two_nodes_and_a_raw_peer {
    two_nodes_and_a_raw_peer() {
        for (unsigned i = 0; i < 3; ++i)
            how.addresses.push_back(cluster::testing::fresh_address("doubt-" + std::to_string(i)));
        std::vector<std::thread> starters;
        for (unsigned i = 0; i < 2; ++i) {
            starters.emplace_back([this, i] {
                node_options mine = how;
                mine.node_number = i;
                nodes[i] = std::make_unique<node>(mine);
            });
        }
        for (unsigned i = 0; i < 2; ++i) {
            links.emplace_back(how.addresses[i]);
            links[i].send_hello(how, 2);
        }
        for (std::thread& t : starters) t.join();
        for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(links[i].receives_hello());
    }
    [[nodiscard]] object_id id(unsigned at, std::uint64_t n) const { return nodes[0]->id_at(at, {9, n}); }
    /// One thread of the third node writes an object on each of the two, and sends the prepare to one of them.
    void prepare(unsigned at, std::uint16_t thread) {
        wire::prepare what{.who = {2, thread, 1},
                           .decides = wire::decider::sender_of_several,
                           .reads = {},
                           .writes = {{id(at, thread), 0, wire::action::put, {}}},
                           .others = {static_cast<wire::node_number>(1 - at)}};
        cluster::detail::holder_of<account>{account{thread}}.encode(what.writes[0].bytes);
        links[at].send({.type = wire::message_type::prepare, .from = 2, .call = thread, .clock = 50},
                       wire::encode(what));
        wire::header h;
        std::string body;
        wire::prepare_reply told;
        while (links[at].receive(h, body) && h.type != wire::message_type::prepare_reply) continue;
        EXPECT_TRUE(wire::decode(body, told) && told.yes);
    }
    void decide(unsigned at, std::uint16_t thread, bool commits) {
        const std::uint64_t version = commits ? 60 : 0;
        links[at].send({.type = wire::message_type::decide, .from = 2, .clock = 60},
                       wire::encode(wire::decide{{2, thread, 1}, commits, version}));
    }

    node_options how;
    std::unique_ptr<node> nodes[2];
    std::vector<cluster::testing::raw_peer> links;
};

// The third node ends after one participant has received a commit or an abort, or after one or both have received the
// prepare. A participant that knows the outcome tells the other one. An outcome that neither participant knows stays in
// doubt.
TEST(cluster_doubts, end_with_the_report_of_another_participant) {
    support::watchdog guard{"end_with_the_report_of_another_participant"};
    two_nodes_and_a_raw_peer t;
    constexpr std::uint16_t committed = 1, aborted = 2, asked_one = 3, asked_both = 4;
    for (const std::uint16_t thread : {committed, aborted, asked_both}) {
        t.prepare(0, thread);
        t.prepare(1, thread);
    }
    t.prepare(1, asked_one);
    t.decide(0, committed, true);
    t.decide(0, aborted, false);
    t.links.clear();
    const auto balance = [&t](unsigned by, unsigned at, std::uint16_t thread) {
        return atomically([&](tx& x) {
            const account* const found = ref<account>{*t.nodes[by], t.id(at, thread)}.find(x);
            return found != nullptr ? found->balance : 0;
        });
    };
    while (t.nodes[1]->status().in_doubt_resolved < 3 || !t.nodes[0]->lost(2)) std::this_thread::yield();
    for (unsigned by = 0; by < 2; ++by) {
        for (unsigned at = 0; at < 2; ++at) {
            EXPECT_EQ(balance(by, at, committed), committed) << by << at;
            EXPECT_EQ(balance(by, at, aborted), 0) << by << at;
            EXPECT_EQ(balance(by, at, asked_one), 0) << by << at;
            EXPECT_THROW(static_cast<void>(balance(by, at, asked_both)), cluster::node_lost) << by << at;
        }
        EXPECT_EQ(t.nodes[by]->status().in_doubt, 1u);
    }
    EXPECT_EQ(t.nodes[0]->status().in_doubt_resolved, 0u);
    EXPECT_EQ(t.nodes[1]->status().in_doubt_resolved, 3u);
}

// Real nodes over sockets. An operator sees a commit whose outcome no participant knows, and resolves it with a command
// to one of them.
TEST(cluster_doubts, are_resolved_by_an_operator) {
    support::watchdog guard{"are_resolved_by_an_operator"};
    two_nodes_and_a_raw_peer t;
    constexpr std::uint16_t wanted = 1, unwanted = 2;
    for (const std::uint16_t thread : {wanted, unwanted}) {
        t.prepare(0, thread);
        t.prepare(1, thread);
    }
    t.links.clear();
    const auto is_open = [&t](unsigned by) {
        const cluster::node_status f = t.nodes[by]->status();
        return t.nodes[by]->statistics().transactions_in_doubt == 2 && f.in_doubt == 2;
    };
    while (!is_open(0) || !is_open(1)) std::this_thread::yield();
    const cluster::observer_options whom{.addresses = t.how.addresses, .timeout = std::chrono::seconds{20}};
    const cluster::transaction_id first = *cluster::transaction_id::parse("2.1.1");
    const cluster::transaction_id second = *cluster::transaction_id::parse("2.2.1");
    const auto settle = [&](unsigned at, const cluster::transaction_id& which, bool commits) {
        for (;;) {
            const cluster::resolve_reply a =
                cluster::resolve_doubt(whom, static_cast<std::uint16_t>(at), which, commits);
            EXPECT_TRUE(a.result) << a.error;
            if (!a.result || *a.result != cluster::resolve_result::asking)
                return a.result.value_or(cluster::resolve_result::failed);
        }
    };
    EXPECT_EQ(settle(1, first, true), cluster::resolve_result::not_here);
    EXPECT_EQ(settle(0, first, true), cluster::resolve_result::done);
    EXPECT_EQ(settle(0, second, false), cluster::resolve_result::done);
    EXPECT_EQ(settle(0, first, true), cluster::resolve_result::was_done);
    EXPECT_EQ(settle(0, first, false), cluster::resolve_result::contradiction);
    EXPECT_EQ(settle(0, {2, 3, 1}, true), cluster::resolve_result::unknown);
    while (t.nodes[1]->status().in_doubt_resolved_by_hand < 2) std::this_thread::yield();
    for (unsigned by = 0; by < 2; ++by) {
        for (unsigned at = 0; at < 2; ++at) {
            for (const std::uint16_t thread : {wanted, unwanted}) {
                const bool exists =
                    atomically([&](tx& x) { return ref<account>{*t.nodes[by], t.id(at, thread)}.find(x) != nullptr; });
                EXPECT_EQ(exists, thread == wanted) << by << at << thread;
            }
        }
        EXPECT_EQ(t.nodes[by]->status().in_doubt, 0u);
        EXPECT_EQ(t.nodes[by]->status().transactions_in_doubt, 0u);
    }
    const std::vector<cluster::doubts_reply> all = cluster::query_doubts(whom);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_FALSE(all[2].answered);
    EXPECT_NE(all[2].error, "");
    for (unsigned n = 0; n < 2; ++n) {
        ASSERT_EQ(all[n].doubts.size(), 2u) << all[n].error;
        EXPECT_EQ(all[n].doubts[0].transaction, first);
        EXPECT_EQ(all[n].doubts[0].state, cluster::doubt_state::committed);
        EXPECT_EQ(all[n].doubts[1].state, cluster::doubt_state::aborted);
    }
}

TEST(transaction_id_test, parses_its_own_text) {
    const cluster::transaction_id id{2, 30, 4000};
    EXPECT_EQ(id.text(), "2.30.4000");
    EXPECT_EQ(cluster::transaction_id::parse(id.text()), id);
    for (const char* const no : {"", "2", "2.30", "2.30.", "2.30.0", "70000.1.1", "2.30.4000 ", "a.b.c", "2.-1.3"})
        EXPECT_EQ(cluster::transaction_id::parse(no), std::nullopt) << no;
}

}  // namespace
