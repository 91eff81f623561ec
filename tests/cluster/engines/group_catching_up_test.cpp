// Real members that were away while much was written. They get each missing entry once, while the group continues to
// work.
#include <csignal>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <tutti/cluster/member.hpp>

#include "cluster/engines/member_network.hpp"
#include "cluster/engines/secured_group.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
using cluster::replica::fault;

constexpr std::size_t value_bytes = 1u << 20, values = 100, lacking = values * value_bytes;

cluster::member_status ask(const group_server& g, std::size_t i) {
    for (const cluster::member_status& m : cluster::query_group(g.places(), 500ms, g.tls()).members) {
        if (m.address == g.places()[i]) return m;
    }
    return {};
}

/// Returns the number of bytes that are sent to a follower until it has all entries, divided by the number of bytes
/// that it lacked. Stops early if this quotient exceeds `enough`.
double sent_to_one_that_was_away(bool killed, const group_tls& files, fault with, double enough) {
    group_server g{member_network::size, static_cast<int>(with), files};
    member_network all{g, 80};
    g.keep_log(8 * lacking);
    g.start();
    const std::size_t away = (g.leader() + 1) % member_network::size;
    killed ? g.at(away).end() : g.at(away).send(SIGSTOP);
    const std::uint64_t before = all.carried_to(away);
    const auto e = engine_at(g.address(), g.tls());
    const std::string value(value_bytes, 'x');
    for (std::size_t i = 0; i < values; ++i) until([&] { return put(*e, "o" + std::to_string(i), value); });
    const std::uint64_t last = ask(g, g.leader()).last_index;
    stress_clients clients{g.address(), 81, g.tls()};
    killed ? g.start_one(away) : g.at(away).send(SIGCONT);
    const auto sent = [&] { return static_cast<double>(all.carried_to(away) - before) / lacking; };
    until([&] { return ask(g, away).applied_index >= last || sent() > enough; });
    const double times = sent();
    clients.let_commit(10);
    EXPECT_EQ(clients.judge(g.address()), "");
    return times;
}

class group_catching_up : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
    static group_tls files() { return {std::get<1>(GetParam()) ? ours().folder : ""}; }
    support::watchdog guard_{"group_catching_up", 100s};
};

INSTANTIATE_TEST_SUITE_P(, group_catching_up, ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& named) {
                             return std::string{std::get<0>(named.param) ? "killed" : "stopped"} +
                                    (std::get<1>(named.param) ? "_under_tls" : "_in_the_clear");
                         });

TEST_P(group_catching_up, sends_missing_entries_once) {
    const double times = sent_to_one_that_was_away(std::get<0>(GetParam()), files(), fault::none, 10);
    std::printf("%.3f times what it lacked\n", times);
    EXPECT_GE(times, 0.95);
    EXPECT_LE(times, 1.5);
}
// The test above notices this fault.
TEST(group_catching_up_fault, detects_repeated_sending_of_all_entries) {
    const support::watchdog guard{"group_catching_up_fault", 100s};
    EXPECT_GT(sent_to_one_that_was_away(true, {}, fault::sends_all, 1.5), 1.5);
}

}  // namespace
