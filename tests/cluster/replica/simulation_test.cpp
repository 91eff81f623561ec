// Whole groups under seeded troubles. TUTTI_CLUSTER_SEED=<n> runs one of them.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/fault.hpp"
#include "cluster/replica/world.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster::replica;
using namespace tutti::cluster::replica::testing;

std::string run_seed(std::uint64_t seed) {
    world w{of_seed(seed)};
    return w.run();
}

TEST(replica_simulation, every_history_is_explained_by_the_log) {
    if (const char* const one = std::getenv("TUTTI_CLUSTER_SEED")) {
        EXPECT_EQ(run_seed(std::strtoull(one, nullptr, 10)), "");
        return;
    }
    std::size_t attempts = 0, good = 0, conflicts = 0, unknown = 0, resent = 0, voided = 0, outlived = 0;
    group::counts all;
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(1000); ++seed) {
        world w{of_seed(seed)};
        ASSERT_EQ(w.run(), "") << "TUTTI_CLUSTER_SEED=" << seed << " runs it again";
        for (const attempt& a : w.what_was().attempts()) {
            ++attempts;
            good += a.said == tutti::cluster::backend::verdict::good ? 1u : 0u;
            conflicts += a.said == tutti::cluster::backend::verdict::conflict ? 1u : 0u;
            unknown += a.said == tutti::cluster::backend::verdict::unknown ? 1u : 0u;
        }
        resent += w.sum(&client::resent);
        voided += w.sum(&client::voided);
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
    }
    std::printf(
        "%zu attempts: %zu committed, %zu conflicts, %zu unknown; %zu sent again, %zu voided, %zu outlived; %zu kills, "
        "%zu cuts, "
        "%zu stops, %zu joins, %zu leaves, %zu snapshots loaded, %zu elections, %zu broken disks\n",
        attempts, good, conflicts, unknown, resent, voided, outlived, all.kills, all.cuts, all.stops, all.joins,
        all.leaves, all.installs, all.elections, all.broken_disks);
    // A checker of nothing finds nothing.
    for (const std::size_t n : {good, conflicts, resent, voided, outlived, all.kills, all.cuts, all.stops, all.joins,
                                all.leaves, all.installs, all.elections, all.broken_disks})
        EXPECT_GT(n, 0u);
    EXPECT_GT(good, attempts / 3);
}

}  // namespace
