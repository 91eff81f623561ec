// Whole groups under seeded faults. TUTTI_CLUSTER_SEED=<n> runs one seed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/world.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;

std::string run_seed(std::uint64_t seed) {
    world w{of_seed(seed)};
    return w.run();
}

TEST(raft_group_simulation, explains_every_history_by_the_log) {
    if (const char* const one = std::getenv("TUTTI_CLUSTER_SEED")) {
        EXPECT_EQ(run_seed(std::strtoull(one, nullptr, 10)), "");
        return;
    }
    std::size_t attempts = 0, good = 0, conflicts = 0, unknown = 0, resent = 0, aborted = 0, outlived = 0;
    group::counts all;
    const std::size_t seeds = tutti::support::rounds(1000);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        world w{of_seed(seed)};
        ASSERT_EQ(w.run(), "") << "TUTTI_CLUSTER_SEED=" << seed << " runs it again";
        for (const attempt& a : w.what_was().attempts()) {
            ++attempts;
            good += a.result == tutti::cluster::backend::engine_status::good ? 1u : 0u;
            conflicts += a.result == tutti::cluster::backend::engine_status::conflict ? 1u : 0u;
            unknown += a.result == tutti::cluster::backend::engine_status::unknown ? 1u : 0u;
        }
        resent += w.sum(&client::resent);
        aborted += w.sum(&client::aborted);
        outlived += w.sum(&client::outlived);
        const group::counts c = w.happened();
        all.kills += c.kills;
        all.cuts += c.cuts;
        all.stops += c.stops;
        all.joins += c.joins;
        all.leaves += c.leaves;
        all.installs += c.installs;
        all.elections += c.elections;
        all.broken_disks += c.broken_disks;
        all.handed_over += c.handed_over;
        all.upset_clocks += c.upset_clocks;
        all.cut += c.cut;
        all.held += c.held;
    }
    std::printf(
        "%zu attempts: %zu committed, %zu conflicts, %zu unknown; %zu sent again, %zu aborted, %zu outlived; %zu "
        "kills, "
        "%zu cuts, "
        "%zu stops, %zu joins, %zu leaves, %zu snapshots loaded, %zu elections, %zu broken disks, %zu handed over, %zu "
        "clocks upset, %zu messages cut, %zu held back\n",
        attempts, good, conflicts, unknown, resent, aborted, outlived, all.kills, all.cuts, all.stops, all.joins,
        all.leaves, all.installs, all.elections, all.broken_disks, all.handed_over, all.upset_clocks, all.cut,
        all.held);
    // The checker accepts even an empty history. So the test also requires that every kind of outcome and fault has
    // occurred. Fewer than 100 seeds may not produce all kinds, so such a run skips this requirement.
    if (seeds < 100) return;
    for (const std::size_t n :
         {good, conflicts, resent, aborted, outlived, all.kills, all.cuts, all.stops, all.joins, all.leaves,
          all.installs, all.elections, all.broken_disks, all.handed_over, all.upset_clocks, all.cut, all.held, unknown})
        EXPECT_GT(n, 0u);
    EXPECT_GT(good, attempts / 3);
}

TEST(raft_group_simulation, repeats_a_run_for_the_same_seed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        world one{of_seed(seed)}, two{of_seed(seed)};
        ASSERT_EQ(one.run(), two.run());
        ASSERT_EQ(one.what_was().latest(), two.what_was().latest());
        const auto &a = one.what_was().attempts(), &b = two.what_was().attempts();
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            ASSERT_EQ(a[i].at, b[i].at);
            ASSERT_EQ(a[i].returned, b[i].returned);
            ASSERT_EQ(a[i].gets.size(), b[i].gets.size());
        }
    }
}

// A build with a sanitizer checks memory and threads. The other builds check that the tests notice broken steps.
#if !defined(TUTTI_SANITIZED)

/// Shows why reads use barriers: a lease is correct only if all clocks are.
TEST(raft_group_simulation, detects_lease_reads_under_clock_skew) {
    const auto run = [](std::uint64_t seed, plan::troubles hurts) {
        plan p = of_seed(seed);
        p.membership = false;
        p.hurts = hurts;
        return world{p}.run();
    };
    injected_fault = fault::read_by_lease;
    std::string found;
    for (std::uint64_t seed = 1; seed <= 100 && found.empty(); ++seed) found = run(seed, plan::troubles::cuts);
    EXPECT_EQ(found, "") << "no clock was wrong";
    std::uint64_t seed = 0;
    while ((found.empty() || found.starts_with(never_ends)) && seed < 3000)
        found = run(++seed, plan::troubles::cuts_and_clocks);
    injected_fault = fault::none;
    EXPECT_NE(found, "") << "no seed up to " << seed << " shows it";
    EXPECT_FALSE(found.starts_with(never_ends)) << found;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), found.c_str());
}

struct broken_step {
    fault what;
    const char* name;
};

class raft_group_simulation_with_faults : public ::testing::TestWithParam<broken_step> {};

TEST_P(raft_group_simulation_with_faults, detects_the_fault) {
    std::uint64_t seed = 0;
    std::string found;
    injected_fault = GetParam().what;
    // The history must show the fault: a broken group may also hang, which would not test the checker.
    while ((found.empty() || found.starts_with(never_ends)) && seed < 3000) found = run_seed(++seed);
    injected_fault = fault::none;
    ASSERT_NE(found, "") << "no seed up to " << seed << " shows it";
    ASSERT_FALSE(found.starts_with(never_ends));
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), found.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    all, raft_group_simulation_with_faults,
    ::testing::Values(
        broken_step{fault::no_check, "no_check"}, broken_step{fault::half_check, "half_check"},
        broken_step{fault::writes_in_parts, "writes_in_parts"}, broken_step{fault::applied_twice, "applied_twice"},
        broken_step{fault::same_version, "same_version"}, broken_step{fault::erase_forgets, "erase_forgets"},
        broken_step{fault::saves_no_versions, "saves_no_versions"}, broken_step{fault::no_barrier, "no_barrier"},
        broken_step{fault::early_answer, "early_answer"}, broken_step{fault::lost_is_conflict, "lost_is_conflict"},
        broken_step{fault::old_below_window, "old_below_window"}, broken_step{fault::absence_stays, "absence_stays"},
        broken_step{fault::absence_not_saved, "absence_not_saved"},
        broken_step{fault::changes_out_of_order, "changes_out_of_order"},
        broken_step{fault::commits_behind_piece, "commits_behind_piece"}),
    [](const auto& step) { return std::string{step.param.name}; });

#endif

}  // namespace
