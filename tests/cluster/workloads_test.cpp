// The workloads of tutti-cluster: data structures against a model, and checks that find injected errors.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/nodes.hpp"
#include "cluster/workloads.hpp"
#include "cluster/workloads/accounts.hpp"
#include "cluster/workloads/hash_table.hpp"
#include "cluster/workloads/linked_list.hpp"
#include "cluster/workloads/search_tree.hpp"
#include "cluster/workloads/skip_list.hpp"
#include "cluster/workloads/vacation.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace cluster_app {

namespace {

using tutti::atomically;
using tutti::tx;
using tutti::cluster::node;
using tutti::cluster::placement;

class key_sets : public ::testing::TestWithParam<const char*> {};

// Catches a structure that loses a key, or removes another key than the requested one.
TEST_P(key_sets, agree_with_a_model) {
    node here;
    constexpr std::uint64_t count = 40;
    const bool table = std::string{GetParam()} == "hash";
    const auto made = make_workload(GetParam(), {table ? count / 4 : count, 20}, here);
    auto& set = dynamic_cast<key_set&>(*made);
    set.fill();
    std::vector<std::uint64_t> keys;
    ASSERT_EQ(set.walk(keys, count), "");
    std::set<std::uint64_t> model{keys.begin(), keys.end()};
    EXPECT_EQ(model.size(), count / 2);
    random_source dice{7};
    for (std::size_t k = 0; k < tutti::support::rounds(3000); ++k) {
        const std::uint64_t key = dice.below(count), draw = dice.next();
        switch (dice.below(3)) {
            case 0:
                ASSERT_EQ(atomically([&](tx& t) { return set.add(t, key, draw); }), model.insert(key).second);
                break;
            case 1: ASSERT_EQ(atomically([&](tx& t) { return set.remove(t, key); }), model.erase(key) == 1); break;
            default: ASSERT_EQ(atomically([&](tx& t) { return set.contains(t, key); }), model.contains(key));
        }
        keys.clear();
        ASSERT_EQ(set.walk(keys, count), "");
        ASSERT_EQ((std::set<std::uint64_t>{keys.begin(), keys.end()}), model);
    }
}

INSTANTIATE_TEST_SUITE_P(all, key_sets, ::testing::Values("hash", "list", "skiplist", "tree"),
                         [](const auto& of) { return std::string{of.param}; });

class workloads : public ::testing::TestWithParam<std::string> {};

TEST_P(workloads, keep_their_invariant_on_two_nodes) {
    tutti::support::watchdog guard{"keep_their_invariant_on_two_nodes"};
    for (const placement where : {placement::home, placement::writer}) {
        const auto nodes = tutti::cluster::testing::start_nodes(2, where);
        std::vector<std::unique_ptr<workload>> work;
        for (const auto& n : nodes) {
            work.push_back(make_workload(GetParam(), {40, 50}, *n));
            work.back()->fill();
        }
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                random_source dice{i};
                for (std::size_t k = 0; k < tutti::support::rounds(200); ++k) work[i % 2]->run_one(dice);
            });
        }
        for (std::thread& t : threads) t.join();
        for (const auto& w : work) w->publish_counts();
        for (const auto& w : work) EXPECT_EQ(w->check(), "");
    }
}

INSTANTIATE_TEST_SUITE_P(all, workloads, ::testing::ValuesIn(workload_names()),
                         [](const auto& of) { return of.param; });

/// Fills a workload, changes something with `damage(t, here)`, and returns the error that the check reports.
std::string verdict_after(const char* name, const std::function<void(tx&, node&)>& damage) {
    node here;
    const auto work = make_workload(name, {20, 20}, here);
    work->fill();
    work->publish_counts();
    EXPECT_EQ(work->check(), "");
    atomically([&](tx& t) { damage(t, here); });
    return work->check();
}

#define EXPECT_SAYS(verdict, words) EXPECT_PRED_FORMAT2(::testing::IsSubstring, words, verdict)

TEST(workload_checks, find_created_or_lent_money) {
    const auto at = [](node& n, std::uint64_t i) { return object_at<account>(n, kind::account, i); };
    EXPECT_SAYS(verdict_after("bank", [&](tx& t, node& n) { ++at(n, 3).write(t).balance; }), "the accounts hold 20001");
    const auto too_much = [&](tx& t, node& n) {
        at(n, 3).write(t).balance -= 1500;
        at(n, 4).write(t).balance += 1500;
    };
    EXPECT_EQ(verdict_after("bank", too_much), "");
    EXPECT_SAYS(verdict_after("loan", too_much), "account 3 owes 500");
}

TEST(workload_checks, find_a_broken_hash_table) {
    const auto at = [](node& n, std::uint64_t i) { return object_at<hash_table::bucket>(n, kind::bucket, i); };
    EXPECT_SAYS(verdict_after("hash", [&](tx& t, node& n) { at(n, 3).write(t).push_back(4); }), "not its own");
    EXPECT_SAYS(verdict_after("hash", [&](tx& t, node& n) { at(n, 3).write(t).push_back(3); }), "twice");
    EXPECT_SAYS(verdict_after("hash", [&](tx& t, node& n) { at(n, 3).write(t).push_back(83); }), "a key 83 of 80");
    EXPECT_SAYS(verdict_after("hash", [&](tx& t, node& n) { at(n, 3).write(t).clear(); }), "it holds 38 keys");
}

TEST(workload_checks, find_a_broken_list) {
    // The list has keys 0, 2, 4, … in nodes 1, 3, 5, …
    const auto at = [](node& n, std::uint64_t i) { return object_at<linked_list::list_node>(n, kind::list_node, i); };
    EXPECT_SAYS(verdict_after("list", [&](tx& t, node& n) { at(n, 5).write(t).next = 3; }), "key 2 comes after key 4");
    EXPECT_SAYS(verdict_after("list", [&](tx& t, node& n) { at(n, 5).erase(t); }), "there is no key 4");
    EXPECT_SAYS(verdict_after("list", [&](tx& t, node& n) { at(n, 5).write(t).next = 9; }), "it holds 9 keys");
}

TEST(workload_checks, find_a_broken_skip_list) {
    const auto at = [](node& n, std::uint64_t i) {
        return object_at<skip_list::skip_node>(n, kind::skip_list_node, i);
    };
    const auto cut = [&](tx& t, node& n) { at(n, 3).write(t).next[0] = at(n, 5).read(t).next[0]; };
    EXPECT_SAYS(verdict_after("skiplist", [&](tx& t, node& n) { at(n, 5).erase(t); }), "there is no key 4");
    EXPECT_SAYS(verdict_after("skiplist", [&](tx& t, node& n) { at(n, 5).write(t).next[0] = 3; }), "comes after");
    EXPECT_SAYS(verdict_after("skiplist", [&](tx& t, node& n) { at(n, 5).write(t).height = 5; }), "says otherwise");
    EXPECT_SAYS(verdict_after("skiplist", [&](tx& t, node& n) { at(n, 19).write(t).next[0] = 20; }),
                "there is no key 19");
    EXPECT_NE(verdict_after("skiplist", cut), "");  // chance decides the node's levels, so either of two errors appears
    const auto beyond = [&](tx& t, node& n) {
        auto& head = at(n, 0).write(t);
        for (auto& next : head.next) next = next == 0 ? 20 : next;
        head.next[4] = 20;
    };
    EXPECT_NE(verdict_after("skiplist", beyond), "");
}

TEST(workload_checks, find_a_broken_tree) {
    const auto at = [](node& n, std::uint64_t i) { return object_at<search_tree::tree_node>(n, kind::tree_node, i); };
    const auto root = [&](tx& t, node& n) { return at(n, 0).read(t).child[search_tree::right]; };
    EXPECT_SAYS(verdict_after("tree", [&](tx& t, node& n) { std::ranges::reverse(at(n, root(t, n)).write(t).child); }),
                "on the wrong side");
    EXPECT_SAYS(verdict_after("tree", [&](tx& t, node& n) { at(n, root(t, n)).erase(t); }), "there is no key");
    EXPECT_SAYS(verdict_after("tree", [&](tx& t, node& n) { at(n, root(t, n)).write(t).child = {0, 0}; }),
                "it holds 1 keys");
}

TEST(workload_checks, find_unreserved_places) {
    const auto car = [](node& n, std::uint64_t i) { return object_at<vacation::offer>(n, kind::car, i); };
    const auto who = [](node& n, std::uint64_t i) { return object_at<vacation::customer>(n, kind::customer, i); };
    EXPECT_SAYS(verdict_after("vacation", [&](tx& t, node& n) { ++car(n, 1).write(t).taken; }), "has given 1 places");
    EXPECT_SAYS(verdict_after("vacation", [&](tx& t, node& n) { who(n, 1).write(t).has.push_back({0, 1}); }),
                "customers have 1");
    EXPECT_SAYS(verdict_after("vacation", [&](tx& t, node& n) { who(n, 1).write(t).has.push_back({3, 1}); }),
                "a reservation of nothing");
    const auto overbooked = [&](tx& t, node& n) {
        who(n, 1).write(t).has.push_back({0, 1});
        car(n, 1).write(t) = {0, 1, 50};
    };
    EXPECT_SAYS(verdict_after("vacation", overbooked), "too few places");
}

}  // namespace
}  // namespace cluster_app
