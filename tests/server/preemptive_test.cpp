// Calls that interrupt calls, over real sockets. Catches an executor that makes an urgent call wait for what runs, loses
// what was interrupted, runs it twice, or cannot end it.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

std::size_t number_of(const std::string& info, const std::string& key) {
    const std::size_t at = info.find("\r\n" + key + ":");
    return at == std::string::npos ? 0 : std::stoul(info.substr(at + key.size() + 3));
}

class preemption : public ::testing::Test {
protected:
    void SetUp() override {
        bank_server bank;
        if (bank->info().find("executor:preemptive") == std::string::npos) GTEST_SKIP() << "not in this build";
    }
};

// What holds the workers ends only by a call that is made meanwhile: without preemption none is answered.
TEST_F(preemption, an_urgent_call_is_answered_while_every_worker_is_busy) {
    for (const std::string ticks : {"on-demand", "periodic"}) {
        bank_server bank{{.workers = 2, .preemption = {.ticks = ticks}}};
        client busy{bank.port()};
        busy.send({"CALL", "hold"});
        busy.send({"CALL", "hold_reading"});
        client urgent{bank.port()};
        while (number_of(urgent({"INFO"}), "running") != 2) std::this_thread::yield();
        for (int i = 0; i < 100; ++i) ASSERT_EQ(urgent({"CALL", "transfer", "3", "4", "1", "PRIORITY", "5"}), "OK");
        EXPECT_GE(number_of(urgent({"INFO"}), "preemptions"), 1U)
            << "a worker may find the next call before it goes on";
        EXPECT_EQ(urgent({"CALL", "release"}), "OK");
        EXPECT_EQ(busy.receive(), "OK");
        EXPECT_EQ(busy.receive(), "2000") << "what it read is of one moment, or it has run again";
    }
}

TEST_F(preemption, equal_and_lower_priorities_wait) {
    bank_server bank{{.workers = 1}};
    client busy{bank.port()};
    busy.send({"CALL", "hold", "PRIORITY", "3"});
    client ask{bank.port()};
    while (number_of(ask({"INFO"}), "running") != 1) std::this_thread::yield();
    client other{bank.port()};
    other.send({"CALL", "noop", "PRIORITY", "3"});
    other.send({"CALL", "noop", "PRIORITY", "2"});
    while (number_of(ask({"INFO"}), "standing_2") != 1) std::this_thread::yield();
    EXPECT_EQ(ask({"CALL", "noop", "PRIORITY", "4"}), "OK");
    EXPECT_EQ(number_of(ask({"INFO"}), "standing_3"), 1U);
    EXPECT_EQ(ask({"CALL", "release"}), "OK");
    EXPECT_EQ(busy.receive() + other.receive() + other.receive(), "OKOKOK");
}

// Its time passes while it is not on a processor. What comes after it runs only if it has ended.
TEST_F(preemption, a_time_limit_ends_what_is_interrupted) {
    bank_server bank{{.workers = 1}};
    client looping{bank.port()};
    looping.send({"CALL", "loop", "PRIORITY", "2"});
    client ask{bank.port()};
    while (number_of(ask({"INFO"}), "running") != 1) std::this_thread::yield();
    client holding{bank.port()};
    holding.send({"CALL", "hold", "PRIORITY", "4"});
    EXPECT_EQ(looping.receive().substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(ask({"CALL", "release"}), "OK");
    EXPECT_EQ(holding.receive(), "OK");
    EXPECT_EQ(ask({"CALL", "noop", "PRIORITY", "1"}), "OK");
}

// The threads of the other executor have stacks that the system guards: running over one ends the process.
TEST_F(preemption, a_stack_that_does_not_suffice_is_an_error_of_its_call) {
    bank_server bank{{.workers = 1, .preemption = {.contexts = 3}}};
    client ask{bank.port()};
    const int rounds = 10;
    for (int i = 1; i <= rounds; ++i) {
        ask.send({"CALL", "dive"});
        ask.send({"CALL", "dive_reading"});
        ask.send({"CALL", "count"});
        EXPECT_EQ(ask.receive().substr(0, 12), "-STACK dive:");
        EXPECT_EQ(ask.receive().substr(0, 20), "-STACK dive_reading:");
        EXPECT_EQ(ask.receive(), std::to_string(i));
    }
    EXPECT_EQ(ask({"CALL", "total"}), "100000");
    EXPECT_NE(ask({"INFO"}).find("SHUTDOWN=0,STACK=10"), std::string::npos);
    try {
        bank->call<void>("dive", {}).get();
        ADD_FAILURE() << "it came to its end";
    } catch (const call_error& e) {
        EXPECT_EQ(e.code(), "STACK");
    }
}

// Every call interrupts some and is interrupted by others, in the middle of a transaction that all have in common.
TEST_F(preemption, every_call_is_run_once_and_answered_once) {
    bank_server bank{{.workers = 2, .preemption = {.contexts = 64, .most_preemptions = 3, .lazy_promotion = true}}};
    constexpr std::size_t connections = 3;
    const std::size_t calls = support::rounds(10'000);
    std::vector<std::vector<long>> numbers(connections);
    std::vector<std::thread> clients;
    for (std::size_t c = 0; c < connections; ++c) {
        clients.emplace_back([&, c] {
            std::mt19937 random{static_cast<unsigned>(c)};
            client ask{bank.port()};
            std::size_t sent = 0;
            while (numbers[c].size() < calls) {
                for (; sent < calls && sent < numbers[c].size() + 50; ++sent)
                    ask.send({"CALL", "count", "PRIORITY", std::to_string(random() % 32)});
                numbers[c].push_back(std::stol(ask.receive()));
            }
        });
    }
    for (auto& c : clients) c.join();
    std::set<long> all;
    for (const auto& mine : numbers) all.insert(mine.begin(), mine.end());
    EXPECT_EQ(all.size(), connections * calls);
    EXPECT_EQ(*all.begin(), 1);
    EXPECT_EQ(*all.rbegin(), static_cast<long>(connections * calls));
}

// A second server in the process has threads unless it insists.
TEST_F(preemption, one_server_of_a_process_preempts) {
    bank_server bank;
    service second{{}};
    second.start();
    EXPECT_NE(second.info().find("executor:threads"), std::string::npos);
    service third{{.executor = execution::preemptive}};
    EXPECT_THROW(third.start(), std::logic_error);
    service senseless{{.preemption = {.ticks = "hourly"}}};
    EXPECT_NO_THROW(senseless.start()) << "it has threads, which have no ticks";
}

}  // namespace
}  // namespace tutti::server
