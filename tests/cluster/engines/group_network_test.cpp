// Three real members with bad networks and disks. Each direction of each pair goes through a proxy of its own, which is
// silent, late or cut. A disk may take longer than an election. Clients reach all members meanwhile, so they also ask a
// member that wrongly believes that it leads.
#include <algorithm>

#include <gtest/gtest.h>
#include <tutti/cluster/member.hpp>

#include "cluster/engines/member_network.hpp"
#include "cluster/engines/secured_group.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
using cluster::replica::fault;

constexpr std::size_t size = member_network::size;

class group_network : public ::testing::TestWithParam<bool> {
protected:
    [[nodiscard]] static cluster::testing::group_tls files() { return {GetParam() ? ours().folder : ""}; }
    support::watchdog guard_{"group_network", 100s};
};

INSTANTIATE_TEST_SUITE_P(, group_network, ::testing::Bool(),
                         [](const auto& named) { return named.param ? "under_tls" : "in_the_clear"; });

TEST_P(group_network, is_unaffected_by_isolated_members) {
    group_server g{size, 0, files()};
    member_network all{g, 40};
    g.start();
    stress_clients clients{g.address(), 41, g.tls()};
    support::random dice{41};
    const std::size_t rounds = support::rounds(8);
    for (std::size_t i = 0; i < rounds; ++i) {
        clients.let_commit(10);
        // The leader is chosen more often than the others.
        const std::size_t whom = dice.one_in(3) ? dice.below(size) : g.leader();
        const bool deaf = i % 3 != 0, dumb = i % 3 != 1;
        if (dumb) all.hold_from(whom, true);
        if (deaf) all.hold_to(whom, true);
        clients.let_commit(10);  // by the other two
        // The held messages arrive late, or never.
        const bool never = dice.one_in(2);
        all.each([never](proxy& p) {
            if (never) p.cut();
            p.hold(false);
        });
    }
    clients.let_commit(10);
    EXPECT_EQ(clients.judge(g.address()), "");
}

TEST_P(group_network, tolerates_silent_late_and_cut_links) {
    group_server g{size, 0, files()};
    member_network all{g, 50};
    g.start();
    stress_clients clients{g.address(), 51, g.tls()};
    support::random dice{51};
    const std::size_t rounds = support::rounds(8);
    for (std::size_t i = 0; i < rounds; ++i) {
        all.each([&dice](proxy& p) { p.disturb(dice.one_in(2)); });
        const std::size_t from = dice.below(size), to = (from + 1 + dice.below(size - 1)) % size;
        all.link(from, to).hold(true);
        clients.let_commit(10);
        if (dice.one_in(2)) all.each([&dice](proxy& p) { dice.one_in(2) ? p.cut() : void(); });
        clients.let_commit(10);
        all.link(from, to).hold(false);
    }
    all.each([](proxy& p) { p.disturb(false); });
    clients.let_commit(10);
    EXPECT_EQ(clients.judge(g.address()), "");
}

/// Isolates leaders in both directions. The group replaces each isolated leader, and clients keep asking that leader.
/// Returns a description of the error, or an empty string.
std::string lone_leaders(fault with, const cluster::testing::group_tls& files) {
    group_server g{size, static_cast<int>(with), files};
    member_network all{g, 60};
    g.start();
    stress_clients clients{g.address(), 61, g.tls()};
    for (int i = 0; i < 3; ++i) {
        clients.let_commit(10);
        const std::size_t alone = g.leader();
        all.hold_from(alone, true);
        all.hold_to(alone, true);
        until([&] {
            return std::ranges::any_of(
                cluster::query_group(g.places(), 2000ms, g.tls()).members,
                [&](const cluster::member_status& m) { return m.address != g.places()[alone] && m.state == "leader"; });
        });
        clients.let_commit(10);
        all.each([](proxy& p) {
            p.cut();
            p.hold(false);
        });
    }
    clients.let_commit(10);
    return clients.judge(g.address());
}

TEST_P(group_network, replaces_isolated_leaders) { EXPECT_EQ(lone_leaders(fault::none, files()), ""); }
// The test above would notice this fault.
TEST_P(group_network, detects_replies_before_a_majority_has_the_entry) {
    EXPECT_NE(lone_leaders(fault::early_answer, files()), "");
}

/// Ends one member and starts it again on a slow disk.
void slow_down(group_server& g, std::size_t i, std::chrono::milliseconds by) {
    g.at(i).end();
    g.delay_disk(i, by);
    g.start_one(i);
}

// The delay is longer than the members wait for a silent leader, and longer than a program waits for a silent member.
// Heartbeats keep the members waiting, and signs of life keep the program waiting.
TEST(group_disk, waits_for_disks_slower_than_the_silence_timeout) {
    const support::watchdog guard{"slow_disks", 100s};
    group_server g{size};
    g.start();
    for (std::size_t i = 0; i < size; ++i) slow_down(g, i, 1500ms);
    const auto e = engine_at(g.address(), {});
    std::chrono::steady_clock::duration took{};
    // On a busy machine, a leader may be silent because it does not get a processor. The test therefore tries several
    // times.
    until([&] {
        const auto begun = std::chrono::steady_clock::now();
        const bool good = put(*e, "o1", "x");
        took = std::chrono::steady_clock::now() - begun;
        return good;
    });
    EXPECT_GE(took, cluster::backend::group::silence_timeout);
    EXPECT_EQ(look(*e, "o1"), "x");
}

TEST(group_disk, tolerates_one_slow_disk_of_three) {
    const support::watchdog guard{"one_slow_disk", 100s};
    group_server g{size};
    g.start();
    stress_clients clients{g.address(), 70};
    const std::size_t slow = g.leader(), other = (slow + 1) % size;
    slow_down(g, slow, 250ms);
    clients.let_commit(40);
    g.at(slow).end();
    clients.let_commit(20);
    g.start_one(slow);
    clients.let_commit(20);
    // Now the slow disk is needed: its member and the third one are the only majority.
    g.at(other).end();
    clients.let_commit(4);
    g.start_one(other);
    clients.let_commit(10);
    EXPECT_EQ(clients.judge(g.address()), "");
}

}  // namespace
