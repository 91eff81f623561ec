// Simulated clusters whose messages and blocks have a cost. The same seed gives the same results; where theory predicts
// a result, the tests check it.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "bench/cluster/patterns.hpp"
#include "bench/cluster/plan.hpp"

namespace {

using bench::cluster::figures;
using bench::cluster::nesting;
using bench::cluster::plan;
using bench::cluster::run;

constexpr std::uint64_t millisecond = 1'000'000;

plan looks_into_buckets() {
    plan p;
    p.workload = "hash";
    p.nodes = 1;
    p.reads = 100;
    p.duration = 10 * millisecond;
    return p;
}

std::string refusal(const plan& p) {
    try {
        static_cast<void>(run(p));
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "none";
}

TEST(cluster_performance, reaches_full_throughput_on_one_node_without_conflicts) {
    const plan p = looks_into_buckets();
    const figures f = run(p);
    const auto each = static_cast<double>(p.each.attempt + p.each.object);
    // the tolerance allows for the unfinished block
    EXPECT_NEAR(f.per_second, 1e9 / each, 1e9 / static_cast<double>(p.duration));
    EXPECT_DOUBLE_EQ(f.median, each / 1000);
    EXPECT_EQ(f.aborts, 0);
    EXPECT_EQ(f.messages, 0);
    EXPECT_NEAR(f.busy, 1, 1e-9);
}

TEST(cluster_performance, reads_unwritten_objects_from_copies_without_messages) {
    plan p = looks_into_buckets();
    p.nodes = 2;
    p.objects = 100;
    p.share_after = 1;
    const figures f = run(p);
    EXPECT_EQ(f.messages, 0) << "each of the few buckets was read before this counted";
    const auto each = static_cast<double>(p.each.attempt + p.each.object);
    EXPECT_NEAR(f.per_second, 2e9 / each, 1e-3 * 2e9 / each);
}

TEST(cluster_performance, makes_excess_threads_wait_for_processors) {
    plan p = looks_into_buckets();
    p.processors = 2;
    p.threads = 6;
    const figures f = run(p);
    const auto each = static_cast<double>(p.each.attempt + p.each.object);
    EXPECT_NEAR(f.per_second, 2 * 1e9 / each, 1e-3 * 1e9 / each);
    EXPECT_NEAR(f.median, 3 * each / 1000, 0.01 * each / 1000);  // of the three threads of a processor, two wait
    EXPECT_NEAR(f.busy, 1, 1e-9);
}

TEST(cluster_performance, takes_the_round_trips_of_a_slow_network) {
    plan p = looks_into_buckets();
    p.nodes = 2;
    p.each.latency = millisecond / 5;
    p.each.byte = 0;
    p.duration = 2000 * millisecond;
    const figures f = run(p);
    EXPECT_NEAR(f.round_trips, 0.5, 0.02);  // the other node has every second bucket
    EXPECT_NEAR(f.messages, 2 * f.round_trips, 0.01);
    const auto trip = static_cast<double>(2 * (p.each.latency + p.each.send + p.each.receive));
    const double each = static_cast<double>(p.each.attempt + p.each.object) + trip * f.round_trips;
    EXPECT_NEAR(f.per_second, 2e9 / each, 0.02 * f.per_second);
}

TEST(cluster_performance, has_one_result_per_seed) {
    plan p;
    p.nodes = 4;
    p.threads = 2;
    p.objects = 40;
    p.inner = 3;
    p.duration = 10 * millisecond;
    p.each.spread = 5000;
    for (const bool moves : {false, true}) {
        for (const nesting n : {nesting::flat, nesting::closed, nesting::checkpoint, nesting::open}) {
            p.moves = moves;
            p.nesting = n;
            p.seed = 1;
            const figures f = run(p);
            EXPECT_GT(f.transactions, 0u);
            EXPECT_EQ(f, run(p));
            p.seed = 2;
            EXPECT_NE(f, run(p));
        }
    }
}

TEST(cluster_performance, completes_every_workload_with_conflicts) {
    for (const auto& w : bench::cluster::patterns()) {
        plan p;
        p.workload = w.name;
        p.nodes = 4;
        p.threads = 2;
        p.objects = 20;
        p.duration = 100 * millisecond;
        const figures f = run(p);
        EXPECT_GT(f.transactions, 50u) << w.name;
        EXPECT_GT(f.aborts, 0) << w.name;
        EXPECT_LE(f.busiest, 1) << w.name;
    }
}

TEST(cluster_performance, runs_the_tpcc_mix_with_deliveries_in_parts) {
    plan p;
    p.workload = "tpcc";
    p.nodes = 1;
    p.duration = 50 * millisecond;
    const figures f = run(p);
    EXPECT_EQ(f.round_trips, 0);
    EXPECT_LT(f.aborts, 0.01) << "a part of a Delivery is no repetition";
    p.reads = 100;
    EXPECT_EQ(run(p), f);
    p.nodes = 2;
    EXPECT_GT(run(p).round_trips, 2);
    p.inner = 2;
    EXPECT_NE(refusal(p).find("tpcc has one operation"), std::string::npos);
}

TEST(cluster_performance, counts_conflicts_where_they_occur) {
    plan p;
    p.nodes = 4;
    p.objects = 60;
    p.inner = 5;
    p.duration = 100 * millisecond;
    const figures flat = run(p);
    EXPECT_GT(flat.at_commit, 0.1);
    EXPECT_GT(flat.running, 0);
    EXPECT_LE(flat.inside, flat.running);
    EXPECT_NEAR(flat.at_commit + flat.running, flat.aborts, 0.05 * flat.aborts);
    p.nesting = nesting::closed;
    const figures closed = run(p);
    EXPECT_DOUBLE_EQ(closed.inside, closed.partial_rollbacks) << "these alone lead back to the step that runs";
    p.nesting = nesting::flat;
    p.singly = true;
    EXPECT_GT(run(p).round_trips, flat.round_trips + 1);
}

TEST(cluster_performance, repeats_nested_blocks_separately) {
    plan p;
    p.nodes = 4;
    p.objects = 60;
    p.inner = 5;
    p.duration = 100 * millisecond;
    const figures flat = run(p);
    EXPECT_EQ(flat.partial_rollbacks, 0);
    p.nesting = nesting::checkpoint;
    const figures checkpoint = run(p);
    EXPECT_GT(checkpoint.partial_rollbacks, 0.1);
    EXPECT_LT(checkpoint.aborts, flat.aborts);
    p.nesting = nesting::closed;
    EXPECT_GT(run(p).partial_rollbacks, 0);
    p.nesting = nesting::open;
    EXPECT_LT(run(p).aborts / p.inner, flat.aborts);  // compares attempts of one transfer with attempts of five
}

TEST(cluster_performance, repeats_more_steps_with_fewer_checkpoints) {
    plan p;
    p.nodes = 4;
    p.objects = 60;
    p.inner = 4;
    p.nesting = nesting::checkpoint;
    p.duration = 100 * millisecond;
    const figures by_default = run(p);
    p.checkpoints = 4;
    EXPECT_EQ(run(p), by_default) << "one for each step";
    p.checkpoints = 1;
    const figures one = run(p);
    EXPECT_DOUBLE_EQ(one.anew, one.aborts + one.partial_rollbacks) << "there is no other way back";
    p.checkpoints = 2;
    const figures two = run(p);
    EXPECT_LT(two.anew, one.anew);
    EXPECT_LT(by_default.anew, two.anew);
}

double sum_of(const bench::cluster::split<double>& s) {
    return s.steps + s.commits + s.lost + s.pauses + s.locks + s.undoing;
}

TEST(cluster_performance, undoes_conflicting_open_nested_steps) {
    plan p;
    p.nodes = 4;
    p.inner = 4;
    p.duration = 100 * millisecond;
    p.nesting = nesting::open;
    for (const char* const keys : {"hash", "list", "skiplist", "tree"}) {
        p.workload = keys;
        p.objects = 12;
        p.locks = true;
        const figures f = run(p);
        EXPECT_GT(f.refused, 0.1) << keys;
        EXPECT_GT(f.undone, 0.1) << keys;
        EXPECT_GT(f.spent.undoing, f.undone * static_cast<double>(p.each.attempt) / 1000) << keys;
        EXPECT_GT(f.spent.locks, 1) << keys;
        EXPECT_NEAR(sum_of(f.spent), p.nodes * 1e6 / f.per_second, 0.1 * sum_of(f.spent))
            << "all of the time: " << keys;
        p.locks = false;
        const figures commuting = run(p);
        EXPECT_EQ(commuting.refused + commuting.undone + commuting.spent.locks + commuting.spent.undoing, 0) << keys;
        EXPECT_LT(commuting.round_trips, f.round_trips) << keys;
    }
}

/// Returns the round trips of a bank transaction after the accounts have moved for a while.
double trips(unsigned nodes, unsigned accounts, unsigned reads) {
    plan p;
    p.nodes = nodes;
    p.objects = accounts;
    p.reads = reads;
    p.moves = true;
    p.warm_up = 300 * millisecond;
    p.duration = 50 * millisecond;
    return run(p).round_trips;
}

// Every object moves all the time, so pointers are stale. A transaction takes 1 trip to ask the home, 1 trip to ask the
// owner, and 1.5 trips to commit.
TEST(cluster_performance, looks_for_often_moved_objects_at_home) { EXPECT_LT(trips(16, 500, 20), 3.9); }

// Most transactions only read, so an object has usually not moved since its last use. One trip finds the object instead
// of two.
TEST(cluster_performance, looks_for_rarely_moved_objects_by_pointer) { EXPECT_LT(trips(8, 100, 97), 1.75); }

TEST(cluster_performance, simulates_a_thousand_nodes) {
    plan p;
    p.nodes = 1000;
    p.warm_up = 0;
    p.duration = millisecond / 2;
    const figures f = run(p);
    EXPECT_GT(f.transactions, 1000u);
    EXPECT_NEAR(f.directory_entries, 10, 0.5);  // of 10,000 accounts
}

TEST(cluster_performance, refuses_invalid_parameters) {
    const auto refused = [](auto&& spoil) {
        plan p;
        spoil(p);
        return refusal(p);
    };
    EXPECT_EQ(refused([](plan& p) { p.workload = "nosuch"; }), "there is no workload 'nosuch'");
    EXPECT_EQ(refused([](plan& p) { p.nodes = 0; }), "nodes: from 1 to 1024");
    EXPECT_EQ(refused([](plan& p) { p.nodes = 1025; }), "nodes: from 1 to 1024");
    EXPECT_EQ(refused([](plan& p) { p.threads = 0; }), "threads: from 1 to 4094");
    EXPECT_EQ(refused([](plan& p) { p.processors = 0; }), "processors: a node has at least one");
    EXPECT_EQ(refused([](plan& p) { p.reads = 101; }), "reads: of 100 operations, so from 0 to 100");
    EXPECT_EQ(refused([](plan& p) { p.inner = 0; }), "inner: a transaction has at least one operation");
    EXPECT_EQ(refused([](plan& p) { p.locks = true; }), "locks: of operations that are open nested");
    EXPECT_EQ(refused([](plan& p) {
                  p.nesting = nesting::open;
                  p.locks = true;
              }),
              "locks: of keys, which list, skiplist, tree and hash have");
    for (const auto& [how, checkpoints] : {std::pair{nesting::closed, 1u}, {nesting::checkpoint, 2u}}) {
        EXPECT_EQ(refused([&](plan& p) {
                      p.nesting = how;
                      p.checkpoints = checkpoints;
                  }),
                  "checkpoints: of a transaction nested so, and no more than it has operations");
    }
    EXPECT_EQ(refused([](plan& p) { p.duration = 0; }), "milliseconds: time has to pass");
    EXPECT_EQ(refused([](plan& p) { p.each.attempt = p.each.object = 0; }), "an attempt that costs nothing never ends");
}

}  // namespace
