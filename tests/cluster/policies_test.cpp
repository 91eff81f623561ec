// Policies of blocks that conflict with blocks of other nodes: which block commits, and after how many attempts. The
// tests do not depend on time. Another thread overwrites, once in every attempt of a block, an object that the block
// has read, until that write is refused.
#include <atomic>
#include <memory>
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
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::object_id;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::process_cluster;
using cluster::testing::start_nodes;

constexpr int attempts_to_commit = 17;  // after 16 conflicts
constexpr int max_attempts = 40;

object_id at_home(unsigned home, std::uint64_t which = 0) {
    object_id id{9 + which, 0};
    while (cluster::home_of(id, 2) != home) ++id.low;
    return id;
}

/// Two nodes with an object on each. Blocks of the second node disturb blocks of the first.
class cluster_policies : public ::testing::Test {
protected:
    cluster_policies() {
        atomically([&](tx& t) { here.publish(t, {0}); });
        atomically([&](tx& t) { there.publish(t, {0}); });
    }
    /// Writes `there` from another thread. Returns when the write is done or refused.
    void disturb(const options& how) {
        const std::uint64_t before = refused();
        const auto written = std::make_shared<std::atomic<bool>>(false);
        std::jthread other{[this, how, written] {
            atomically(how, [&](tx& t) { there_too.write(t).balance += 1; });
            written->store(true);
        }};
        while (!written->load() && refused() == before) std::this_thread::yield();
        if (!written->load()) kept_out_.push_back(std::move(other));
    }
    /// Returns the number of attempts of a block. Each attempt is disturbed, except the last one allowed.
    int attempts_of(const options& how, const options& disturber = {}) {
        int attempts = 0;
        atomically(how, [&](tx& t) {
            ++attempts;
            const long seen = there.read(t).balance;
            if (attempts < max_attempts) disturb(disturber);
            here.write(t).balance = seen;
        });
        kept_out_.clear();
        return attempts;
    }
    [[nodiscard]] std::uint64_t refused() const { return nodes[1]->status().locks_refused; }

    support::watchdog guard{"cluster_policies"};
    std::vector<std::unique_ptr<node>> nodes = start_nodes(2, cluster::placement::home);
    const ref<account> here{*nodes[0], at_home(0)}, there{*nodes[0], at_home(1)};
    const ref<account> there_too{*nodes[1], at_home(1)};

private:
    std::vector<std::jthread> kept_out_;  // the refused writers, until the block has ended
};

// Catches a policy that has no effect on other nodes, and a block that is never protected.
TEST_F(cluster_policies, bound_the_attempts) {
    const auto attempts_under = [this](policy p) { return attempts_of({.policy = p}); };
    EXPECT_EQ(attempts_under(policy::timestamp), 2) << "it draws its age when it has lost";
    EXPECT_EQ(attempts_under(policy::karma), 2);
    EXPECT_EQ(attempts_under(policy::aggressive), 1);
    for (const policy p : {policy::patient, policy::backoff, policy::delay, policy::yield, policy::serialize,
                           policy::priority, policy::deadline})
        EXPECT_EQ(attempts_under(p), attempts_to_commit) << static_cast<int>(p);
    EXPECT_EQ(attempts_under(policy::suicide), max_attempts) << "it is the baseline, without a bound";
    EXPECT_GT(nodes[0]->status().reserving_attempts, 0u);
    EXPECT_GT(nodes[1]->status().locks_refused, 0u);
}

// Catches a priority that does not travel to other nodes. Catches a priority that wins against a higher one, or against
// a block that has lost too often.
TEST_F(cluster_policies, carry_priorities_to_other_nodes) {
    const auto with = [](int rank) { return options{.policy = policy::priority, .priority = rank}; };
    EXPECT_EQ(attempts_of(with(1)), 1);
    EXPECT_EQ(attempts_of(with(1), with(1)), 1) << "of equals the older";
    EXPECT_EQ(nodes[1]->status().reservations_lost, 0u);
    EXPECT_EQ(attempts_of(with(1), with(2)), attempts_to_commit);
    EXPECT_GE(nodes[1]->status().reservations_lost, 16u);
    EXPECT_EQ(attempts_of(with(-1)), attempts_to_commit);
}

TEST_F(cluster_policies, carry_deadlines_to_other_nodes) {
    using std::chrono::hours;
    const auto in = [](int h) {
        return options{.policy = policy::deadline, .deadline = std::chrono::steady_clock::now() + hours{h}};
    };
    EXPECT_EQ(attempts_of(in(2)), 1);
    EXPECT_EQ(attempts_of(in(2), in(3)), 1);
    EXPECT_EQ(attempts_of(in(2), in(1)), attempts_to_commit);
}

// Catches an open nested block that is refused because of reservations of the block around it.
TEST_F(cluster_policies, do_not_block_nested_blocks) {
    int runs = 0, inner_runs = 0;
    atomically({.policy = policy::priority, .priority = 1}, [&](tx& t) {
        ++runs;
        const long seen = there.read(t).balance;
        open_nested(
            t,
            [&](tx& u) {
                ++inner_runs;
                there.write(u).balance = seen + 1;
            },
            [&](tx& u) { there.write(u).balance -= 1; });
    });
    EXPECT_EQ(inner_runs, runs);
    EXPECT_EQ(refused(), 0u);
    EXPECT_EQ(atomically([&](tx& t) { return there_too.read(t).balance; }), 1);
}

// Catches reservations that stay when a block ends by an exception or sleeps in retry. Then a writer could never get
// the object.
TEST_F(cluster_policies, release_all_reservations) {
    constexpr options urgent{.policy = policy::priority, .priority = 1};
    EXPECT_THROW(atomically(urgent,
                            [&](tx& t) {
                                (void)there.read(t);
                                throw 1;
                            }),
                 int);
    disturb({});
    std::jthread sleeper{[&] {
        atomically(urgent, [&](tx& t) {
            if (there.read(t).balance < 3) retry(t);
        });
    }};
    disturb({});
    disturb({});
    sleeper.join();
    EXPECT_EQ(atomically([&](tx& t) { return there_too.read(t).balance; }), 3);
}

// Catches a block that always loses to other processes. Two other processes keep writing the objects that the block
// reads.
TEST(cluster_policies_of_processes, complete_a_long_block) {
    support::watchdog guard{"complete_a_long_block"};
    const process_cluster all{3};
    for (const unsigned n : {1u, 2u}) EXPECT_EQ(all.nodes[n]->ask("storm"), "done");
    // Each writer may have lost as often as the block, and may be older. Such a writer has precedence once.
    EXPECT_LE(std::stol(all.nodes[0]->ask("endure patient")), attempts_to_commit + 3);
    EXPECT_LE(std::stol(all.nodes[0]->ask("endure timestamp")), attempts_to_commit + 3);
    EXPECT_LE(std::stol(all.nodes[0]->ask("endure backoff")), attempts_to_commit + 3);
    const auto told = all.ask();
    ASSERT_TRUE(told[0].status && told[1].status && told[2].status);
    EXPECT_GT(told[0].status->reserving_attempts, 0u);
}

}  // namespace
