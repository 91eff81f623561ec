// Several groups under seeded faults, and programs that are killed in the middle of commits that span several groups.
// TUTTI_CLUSTER_SEED=<n> runs one seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/replica/groups_world.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;
using tutti::cluster::backend::fault;

TEST(raft_groups_simulation, explains_every_attempt_by_one_order) {
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
        all.upset_clocks += c.upset_clocks;
        all.aborted += c.aborted;
        all.finished_by_others += c.finished_by_others;
        all.moved += c.moved;
        all.moves_lost += c.moves_lost;
        all.copied_again += c.copied_again;
        all.movers_killed += c.movers_killed;
        all.groups.kills += c.groups.kills;
        all.groups.elections += c.groups.elections;
        all.groups.installs += c.groups.installs;
        all.groups.upset_clocks += c.groups.upset_clocks;
    }
    std::printf(
        "%zu attempts: %zu committed, %zu conflicts, %zu unreachable, %zu unknown; %zu of several groups; %zu "
        "aborted, %zu finished by others; %zu moves of slots, %zu failed moves, %zu records copied "
        "again, %zu migrators killed; %zu programs "
        "killed, %zu stopped, %zu members killed, %zu elections, %zu snapshots loaded, %zu clocks upset, %zu of "
        "programs\n",
        all.attempts, all.good, all.conflicts, all.unreachable, all.unknown, all.crossings, all.aborted,
        all.finished_by_others, all.moved, all.moves_lost, all.copied_again, all.movers_killed, all.killed, all.stopped,
        all.groups.kills, all.groups.elections, all.groups.installs, all.groups.upset_clocks, all.upset_clocks);
    // A few seeds do not cover everything.
    if (seeds < 100) return;
    for (const std::size_t n :
         {all.good, all.conflicts, all.unreachable, all.unknown, all.crossings, all.aborted, all.finished_by_others,
          all.killed, all.stopped, all.upset_clocks, all.groups.kills, all.moved, all.moves_lost, all.copied_again,
          all.movers_killed, all.groups.elections, all.groups.installs, all.groups.upset_clocks})
        EXPECT_GT(n, 0u);
    EXPECT_GT(all.crossings, all.attempts / 4);
    EXPECT_GT(all.good, all.attempts / 4);
}

TEST(raft_groups_simulation, repeats_a_run_for_the_same_seed) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        groups_world one{groups_of_seed(seed)}, two{groups_of_seed(seed)};
        ASSERT_EQ(one.run(), two.run());
        ASSERT_EQ(one.happened().attempts, two.happened().attempts);
        ASSERT_EQ(one.happened().good, two.happened().good);
    }
}

/// Returns the simulated time of an update of one object in each of three groups: the mean of a hundred updates of one
/// program without faults.
double milliseconds_of_an_update(fault how) {
    constexpr unsigned three = 3, updates = 100;
    event_queue events{1};
    const conditions calm{.slow_of_100 = 0, .lost_of_100 = 0, .history = {}};
    history_checker truth[three];
    std::vector<std::unique_ptr<group>> groups;
    for (history_checker& p : truth) groups.push_back(std::make_unique<group>(events, p, calm));
    simulated_stack program{events};
    const simulated_env env{events, program};
    instant begun = 0, over = 0;
    unsigned good = 0;
    tutti::cluster::backend::injected_fault = how;
    program.start([&] {
        std::vector<std::unique_ptr<tutti::cluster::backend::group_engine>> engines;
        for (unsigned g = 0; g < three; ++g) {
            engines.push_back(
                std::make_unique<simulated_group>(events, program, *groups[g], g + 1, env, 1000 * ms, 20000 * ms));
        }
        tutti::cluster::backend::sharded_engine engine{std::move(engines), three, {}, env};
        std::vector<key> keys(three);  // one in each group
        for (unsigned i = 0; std::ranges::find(keys, "") != keys.end(); ++i)
            keys[engine.group_of("o" + std::to_string(i))] = "o" + std::to_string(i);
        env.pause(std::chrono::seconds{3});  // until a leader is elected
        for (unsigned i = 0; i <= updates; ++i) {
            std::vector<tutti::cluster::backend::write> writes;
            for (const key& k : keys) writes.push_back({k, true, std::to_string(i)});
            tutti::cluster::backend::request r;
            r.writes = writes;
            engine.commit(r);
            good += r.status == tutti::cluster::backend::engine_status::good ? 1 : 0;
            if (i == 0) begun = events.now();  // the first update has found the leaders
        }
        over = events.now();
    });
    while (program.runs() && events.step()) {}
    tutti::cluster::backend::injected_fault = fault::none;
    EXPECT_EQ(good, updates + 1);
    return static_cast<double>(over - begun) / ms / updates;
}

TEST(raft_groups_simulation, prepares_and_finishes_in_all_groups_concurrently) {
    const double in_turn = milliseconds_of_an_update(fault::groups_one_by_one),
                 at_once = milliseconds_of_an_update(fault::none);
    std::printf("an update of three groups: %.1f ms in turn, %.1f ms at once: %.2f of it\n", in_turn, at_once,
                at_once / in_turn);
    // An update takes three round trips instead of five. Two of the three take as long as the slower one of two
    // concurrent round trips.
    EXPECT_LT(at_once, 0.8 * in_turn);
    EXPECT_GT(at_once, 0.5 * in_turn);
}

}  // namespace
