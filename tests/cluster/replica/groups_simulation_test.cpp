// Several groups under seeded troubles, and programs that are killed in the middle of commits that span them.
// TUTTI_CLUSTER_SEED=<n> runs one seed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/groups_world.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;

TEST(replica_groups_simulation, one_order_explains_every_attempt) {
    if (const char* const one = std::getenv("TUTTI_CLUSTER_SEED")) {
        EXPECT_EQ(run_seed(std::strtoull(one, nullptr, 10)), "");
        return;
    }
    groups_world::counts all;
    const std::size_t seeds = tutti::support::rounds(300);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        groups_world w{groups_of_seed(seed)};
        ASSERT_EQ(w.run(), "") << "TUTTI_CLUSTER_SEED=" << seed << " runs it again";
        const groups_world::counts c = w.happened();
        all.attempts += c.attempts;
        all.good += c.good;
        all.conflicts += c.conflicts;
        all.unreachable += c.unreachable;
        all.unknown += c.unknown;
        all.crossings += c.crossings;
        all.killed += c.killed;
        all.stopped += c.stopped;
        all.voided += c.voided;
        all.finished_by_others += c.finished_by_others;
        all.groups.kills += c.groups.kills;
        all.groups.elections += c.groups.elections;
        all.groups.installs += c.groups.installs;
    }
    std::printf(
        "%zu attempts: %zu committed, %zu conflicts, %zu unreachable, %zu unknown; %zu of several groups; %zu "
        "voided, %zu brought to an end by others; %zu programs "
        "killed, %zu stopped, %zu members killed, %zu elections, %zu snapshots loaded\n",
        all.attempts, all.good, all.conflicts, all.unreachable, all.unknown, all.crossings, all.voided,
        all.finished_by_others, all.killed, all.stopped, all.groups.kills, all.groups.elections, all.groups.installs);
    // Of a few seeds nobody can ask for everything.
    if (seeds < 100) return;
    for (const std::size_t n :
         {all.good, all.conflicts, all.unreachable, all.unknown, all.crossings, all.voided, all.finished_by_others,
          all.killed, all.stopped, all.groups.kills, all.groups.elections, all.groups.installs})
        EXPECT_GT(n, 0u);
    EXPECT_GT(all.crossings, all.attempts / 4);
    EXPECT_GT(all.good, all.attempts / 4);
}

TEST(replica_groups_simulation, a_seed_runs_the_same_again) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        groups_world one{groups_of_seed(seed)}, two{groups_of_seed(seed)};
        ASSERT_EQ(one.run(), two.run());
        ASSERT_EQ(one.happened().attempts, two.happened().attempts);
        ASSERT_EQ(one.happened().good, two.happened().good);
    }
}

}  // namespace
