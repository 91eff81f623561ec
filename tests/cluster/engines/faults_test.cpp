// Engines that are killed, stopped and cut off under load, as real processes. Acknowledged commits are visible and
// happened once. A commit that was reported without effect had none. One order explains every attempt.
//
// TUTTI_ENGINE names the engine; TUTTI_TEST_EFFORT sets the number of repetitions.
#include <signal.h>

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "cluster/engines/proxy.hpp"
#include "cluster/engines/servers.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;

std::string chosen() {
    const char* const name = std::getenv("TUTTI_ENGINE");
    return name == nullptr ? "redis" : name;
}

std::size_t times() { return std::max<std::size_t>(2, static_cast<std::size_t>(2 * support::effort())); }

class engine_faults : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(missing_for(chosen()), "") << "is needed, and not installed";
        server_ = make_server(chosen());
        ASSERT_NE(server_, nullptr) << "what has no process cannot be killed";
    }
    support::watchdog guard_{chosen(), std::chrono::seconds{100}};
    std::unique_ptr<server> server_;
};

TEST_F(engine_faults, survives_a_kill_and_restart) {
    stress_clients all{server_->address(), 1, server_->tls()};
    for (std::size_t i = 0; i < times(); ++i) {
        all.let_commit(40);
        server_->kill();
        server_->start();
    }
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

// Until commits continue, this process connects to the restarted server only through the waiting clients.
TEST_F(engine_faults, survives_a_restart_of_all_processes) {
    stress_clients all{server_->address(), 4, server_->tls()};
    all.let_commit(40);
    for (std::size_t i = 0; i < server_->processes(); ++i) server_->kill();
    const std::uint64_t before = all.errors();
    while (all.errors() == before) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    server_->start_unasked();
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

TEST_F(engine_faults, survives_a_long_stop) {
    stress_clients all{server_->address(), 2, server_->tls()};
    for (std::size_t i = 0; i < times(); ++i) {
        all.let_commit(40);
        const std::uint64_t before = all.errors();
        server_->send(SIGSTOP);
        while (all.errors() == before) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        server_->send(SIGCONT);
    }
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

TEST_F(engine_faults, survives_network_cuts_delays_and_silence) {
    proxies between{server_->places_to_reach(), 3};
    stress_clients all{server_->address_by_all(between.places()), 3, server_->tls()};
    support::random dice{3};
    for (std::size_t i = 0; i < 3 * times(); ++i) {
        between.disturb(i % 2 == 1);
        all.let_commit(15);
        between.cut();
        all.let_commit(15);
        const std::uint64_t before = all.errors();
        between.hold(true);
        // Half of the faults end while calls still wait, and half after a client has given up.
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{dice.below(200)});
        else
            while (all.errors() == before) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        if (dice.one_in(2)) between.cut();
        between.hold(false);
    }
    between.disturb(false);
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

}  // namespace
