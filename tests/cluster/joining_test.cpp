// A node that comes to a cluster which has begun: its clock, and what it holds of objects, are those of another one.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cli/port.hpp"
#include "cluster/nodes.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::node_options;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::trouble_of;

/// Three nodes, each of which may be ended, and made again.
struct trio {
    explicit trio(const char* name, bool over_zeromq = false) {
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
        mine.self = number;
        return mine;
    }

    node_options how;
    std::unique_ptr<node> nodes[3];
};

#if defined(TUTTI_OVER_ZEROMQ)
constexpr std::array over_zeromq{false, true};
#else
constexpr std::array over_zeromq{false};
#endif
class cluster_joining_over : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(all, cluster_joining_over, ::testing::ValuesIn(over_zeromq),
                         [](const auto& p) { return p.param ? "zeromq" : "sockets"; });

// Catches a node that joins those which have taken it for lost, and blames them in its first block.
TEST_P(cluster_joining_over, of_a_node_that_comes_back_is_refused_and_says_what_to_do) {
    support::watchdog guard{"of_a_node_that_comes_back_is_refused_and_says_what_to_do"};
    for (unsigned number = 2; number != (GetParam() ? ~0u : 0u); --number) {  // over ZeroMQ each calls all
        trio t{"back", GetParam()};
        t.nodes[number].reset();
        const std::string said = trouble_of(t.as(number));
        EXPECT_NE(said.find("has begun, and has had a node " + std::to_string(number)), std::string::npos) << said;
        EXPECT_NE(said.find("start them anew"), std::string::npos) << said;
    }
}

TEST_P(cluster_joining_over, of_a_second_one_at_the_same_address_says_what_to_do) {
    support::watchdog guard{"of_a_second_one_at_the_same_address_says_what_to_do"};
    node_options how;
    for (int i = 0; i < 2; ++i)
        how.addresses.push_back((GetParam() ? "zmq:127.0.0.1:" : "127.0.0.1:") + std::to_string(cli::free_port()));
    std::unique_ptr<node> first, second;
    std::thread comes{[&second, other = how]() mutable {
        other.self = 1;
        second = std::make_unique<node>(other);
    }};
    first = std::make_unique<node>(how);
    comes.join();
    const std::string said = trouble_of(how);
    EXPECT_NE(said.find("cannot listen on " + how.addresses[0] + ": Address already in use; end what has it"),
              std::string::npos)
        << said;
}

// Over sockets node 0 calls no other node, so none can tell it that the cluster has begun.
TEST(cluster_joining, of_the_first_node_names_those_that_do_not_come_and_a_reason) {
    support::watchdog guard{"of_the_first_node_names_those_that_do_not_come_and_a_reason"};
    trio t{"first"};
    t.nodes[0].reset();
    node_options mine = t.as(0);
    mine.connect_within = std::chrono::milliseconds{100};
    const std::string said = trouble_of(mine);
    EXPECT_NE(said.find("did not come within 100 ms: 1 ("), std::string::npos) << said;
    EXPECT_NE(said.find("cannot come back to a cluster that has begun"), std::string::npos) << said;
}

// Neither of a second node with a number that is there, nor of one that comes back, do the others notice anything.
TEST(cluster_joining, leaves_those_that_run_as_they_are) {
    support::watchdog guard{"leaves_those_that_run_as_they_are"};
    trio t{"beside"};
    const ref<account> theirs{*t.nodes[0], t.nodes[0]->id_at(2, {1, 0})};
    atomically([&](tx& x) { theirs.publish(x, {1}); });
    const std::string there = t.how.addresses[2].substr(5), away = there + "-away";
    // The address is the second one's then, as on another machine.
    ASSERT_EQ(::rename(there.c_str(), away.c_str()), 0);
    const std::string said = trouble_of(t.as(2));
    EXPECT_NE(said.find("give this one a number of its own"), std::string::npos) << said;
    ASSERT_EQ(::rename(away.c_str(), there.c_str()), 0);
    EXPECT_NE(trouble_of(t.as(2)).find("cannot listen"), std::string::npos);
    atomically([&](tx& x) { theirs.write(x).balance += 1; });
    t.nodes[1].reset();
    EXPECT_NE(trouble_of(t.as(1)), "");
    EXPECT_EQ(atomically([&](tx& x) { return theirs.read(x).balance; }), 2);
}

}  // namespace
