// Calls that interrupt calls, over real sockets. Catches an executor that makes an urgent call wait for a running one.
// Catches an executor that loses interrupted calls, runs them twice, or cannot end them.

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "server/counted_calls.hpp"
#include "support/realtime_threads.hpp"

namespace tutti::server {
namespace {

class preemptive_executor_test : public ::testing::Test {
protected:
    void SetUp() override {
        bank_server bank;
        if (bank->info().find("executor:preemptive") == std::string::npos) GTEST_SKIP() << "not in this build";
    }
};

// Only another call releases the workers, so without preemption no call is answered.
TEST_F(preemptive_executor_test, runs_an_urgent_call_while_workers_are_busy) {
    for (const std::string ticks : {"on-demand", "periodic"}) {
        bank_server bank{{.workers = 2, .preemption = {.tick_source = ticks}}};
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

// Catches a setting that does not reach a worker, or that is not compared with the call's priority.
TEST_F(preemptive_executor_test, gives_workers_real_time_priority_for_urgent_calls) {
    if (!support::may_have_realtime_threads()) GTEST_SKIP() << support::no_realtime_rights;
    const std::vector<std::string> usual{"tutti-io_thread 7"}, urgent{"tutti-io_thread 7", "tutti-worker 1"};
    for (const int priority : {3, 4}) {
        bank_server bank{{.io_realtime = 7, .workers = 1, .preemption = {.realtime_min_priority = 4}}};
        client busy{bank.port()}, other{bank.port()};
        busy.send({"CALL", "hold", "PRIORITY", std::to_string(priority)});
        while (number_of(other({"INFO"}), "running") != 1) std::this_thread::yield();
        EXPECT_EQ(support::realtime_threads(), priority == 3 ? usual : urgent);
        EXPECT_EQ(other({"CALL", "release", "PRIORITY", "5"}), "OK");
        EXPECT_EQ(busy.receive(), "OK");
    }
}

/// Returns how the slices of each call ended, in order.
std::map<std::string, std::vector<std::string>> slices_of(const std::string& trace, const std::string& procedure) {
    static const std::regex slice{R"re("name":"(\w+)".*"call":(\d+),.*"then":"(\w+)")re"};
    std::map<std::string, std::vector<std::string>> by_call;
    std::istringstream lines{trace};
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, slice) && found[1] == procedure) by_call[found[2]].push_back(found[3]);
    }
    return by_call;
}

// Catches a trace that does not show which call was preempted, or that assigns a resumed slice to another call.
TEST_F(preemptive_executor_test, records_preemptions_in_the_timeline) {
    bank_server bank{{.workers = 1}};
    client busy{bank.port()}, ask{bank.port()};
    EXPECT_EQ(ask({"TIMELINE", "START"}), "OK");
    busy.send({"CALL", "hold"});
    while (number_of(ask({"INFO"}), "running") != 1) std::this_thread::yield();
    EXPECT_EQ(ask({"CALL", "release", "PRIORITY", "5"}), "OK");
    EXPECT_EQ(busy.receive(), "OK");
    EXPECT_EQ(ask({"CALL", "noop"}), "OK")
        << "a worker notes an end after the answer, and before it begins another call";
    const std::string trace = ask({"TIMELINE", "STOP"});
    const auto low = slices_of(trace, "hold"), high = slices_of(trace, "release");
    ASSERT_TRUE(low.size() == 1 && high.size() == 1) << trace;
    EXPECT_EQ(low.begin()->second, (std::vector<std::string>{"preempted", "finished"}));
    EXPECT_EQ(high.begin()->second, std::vector<std::string>{"finished"});
    EXPECT_NE(low.begin()->first, high.begin()->first);
}

// Catches a slow log that does not say why a call took long.
TEST_F(preemptive_executor_test, counts_preemptions_in_the_slow_log) {
    bank_server bank{{.workers = 1, .slow_log_slower_than = std::chrono::microseconds{0}}};
    client busy{bank.port()}, ask{bank.port()};
    busy.send({"CALL", "hold", "PRIORITY", "3"});
    while (number_of(ask({"INFO"}), "running") != 1) std::this_thread::yield();
    EXPECT_EQ(ask({"CALL", "release", "PRIORITY", "5"}), "OK");
    EXPECT_EQ(busy.receive(), "OK");
    const std::string all = ask({"SLOWLOG", "GET"});
    const std::regex interrupted{R"(\(CALL hold\) [0-9.:]+  3 1 \d+ OK\))"},
        other{R"(\(CALL release\) [0-9.:]+  5 0 )"};
    EXPECT_TRUE(std::regex_search(all, interrupted)) << all;
    EXPECT_TRUE(std::regex_search(all, other)) << all;
}

TEST_F(preemptive_executor_test, does_not_preempt_for_equal_or_lower_priorities) {
    bank_server bank{{.workers = 1}};
    client busy{bank.port()};
    busy.send({"CALL", "hold", "PRIORITY", "3"});
    client ask{bank.port()};
    while (number_of(ask({"INFO"}), "running") != 1) std::this_thread::yield();
    client other{bank.port()};
    other.send({"CALL", "noop", "PRIORITY", "3"});
    other.send({"CALL", "noop", "PRIORITY", "2"});
    while (number_of(ask({"INFO"}), "queued_2") != 1) std::this_thread::yield();
    EXPECT_EQ(ask({"CALL", "noop", "PRIORITY", "4"}), "OK");
    EXPECT_EQ(number_of(ask({"INFO"}), "queued_3"), 1U);
    EXPECT_EQ(ask({"CALL", "release"}), "OK");
    EXPECT_EQ(busy.receive() + other.receive() + other.receive(), "OKOKOK");
}

// The time of a call passes even while the call is off the processor. The next call runs only after that call has
// ended.
TEST_F(preemptive_executor_test, enforces_time_limits_on_preempted_calls) {
    bank_server bank{{.workers = 1}};
    client looping{bank.port()};
    looping.send({"CALL", "loop", "PRIORITY", "2"});
    client ask{bank.port()};
    // The call ends by itself, perhaps before the test looks.
    const auto has_begun = [&] {
        const std::string info = ask({"INFO"});
        return number_of(info, "running") == 1 ||
               info.find("TIMEOUT=1", info.find("procedure_loop:")) != std::string::npos;
    };
    while (!has_begun()) std::this_thread::yield();
    client holding{bank.port()};
    holding.send({"CALL", "hold", "PRIORITY", "4"});
    EXPECT_EQ(looping.receive().substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(ask({"CALL", "release"}), "OK");
    EXPECT_EQ(holding.receive(), "OK");
    EXPECT_EQ(ask({"CALL", "noop", "PRIORITY", "1"}), "OK");
}

// Catches calls in retry that occupy all contexts, so that the calls that would wake them cannot begin.
TEST_F(preemptive_executor_test, starts_calls_beside_calls_in_retry) {
    bank_server bank{{.workers = 1, .preemption = {.contexts = 2}}};
    constexpr std::size_t calls = 20;
    client takers{bank.port()};
    for (std::size_t i = 0; i < calls; ++i) takers.send({"CALL", "take"});
    client ask{bank.port()};
    while (number_of(ask({"INFO"}), "parked") != calls) std::this_thread::yield();
    EXPECT_EQ(ask({"CALL", "put", std::to_string(calls)}), "OK");
    for (std::size_t i = 0; i < calls; ++i) EXPECT_EQ(takers.receive(), "OK");
    EXPECT_EQ(ask({"CALL", "counted"}), std::to_string(calls)) << "none ran twice";
}

// This test does not run with the executor of threads, where the system guards the stacks and an overflow ends the
// process.
TEST_F(preemptive_executor_test, reports_a_stack_overflow_as_an_error) {
    bank_server bank{{.workers = 1, .preemption = {.contexts = 3}}};
    client ask{bank.port()};
    const int rounds = 10;
    for (int i = 1; i <= rounds; ++i) {
        ask.send({"CALL", "dive"});
        ask.send({"CALL", "dive_reading"});
        ask.send({"CALL", "count"});
        EXPECT_EQ(ask.receive().substr(0, 20), "-STACKOVERFLOW dive:");
        EXPECT_EQ(ask.receive().substr(0, 28), "-STACKOVERFLOW dive_reading:");
        EXPECT_EQ(ask.receive(), std::to_string(i));
    }
    EXPECT_EQ(ask({"CALL", "dive_noexcept"}).substr(0, 29), "-STACKOVERFLOW dive_noexcept:");
    EXPECT_EQ(ask({"CALL", "total"}), "100000");
    EXPECT_NE(ask({"INFO"}).find("SHUTDOWN=0,STACKOVERFLOW=10"), std::string::npos);
    try {
        bank->call<void>("dive", {}).get();
        ADD_FAILURE() << "it came to its end";
    } catch (const call_error& e) {
        EXPECT_EQ(e.code(), "STACKOVERFLOW");
    }
    for (const std::string_view name : {"dive", "dive_reading"}) EXPECT_EQ(attempts_after(bank, name), 2) << name;
}

// Every call interrupts some calls and is interrupted by others, in the middle of a transaction on a shared counter.
TEST_F(preemptive_executor_test, runs_and_answers_every_call_once) {
    bank_server bank{{.workers = 2, .preemption = {.contexts = 64, .max_preemptions = 3, .lazy_priority_boost = true}}};
    expect_each_once(bank, {.connections = 3, .calls = 10'000, .ahead = 50, .request = [](std::mt19937& random) {
                                return std::vector<std::string>{"CALL", "count", "PRIORITY",
                                                                std::to_string(random() % 32)};
                            }});
}

// A second server in the process uses threads, unless its settings demand preemption.
TEST_F(preemptive_executor_test, preempts_for_one_server_of_a_process) {
    bank_server bank;
    service second{{}};
    second.start();
    EXPECT_NE(second.info().find("executor:threads"), std::string::npos);
    service third{{.executor = execution::preemptive}};
    EXPECT_THROW(third.start(), std::logic_error);
    service senseless{{.preemption = {.tick_source = "hourly"}}};
    EXPECT_NO_THROW(senseless.start()) << "it has threads, which have no ticks";
}

}  // namespace
}  // namespace tutti::server
