// Answers to callers, over a socket and from within the program. Catches answers out of order, wrong codes, and errors
// of one procedure that affect other calls.

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

using words = std::vector<std::string>;

TEST(calls, arguments_and_results_are_transferred) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "noop"}), "OK");
    EXPECT_EQ(ask({"call", "transfer", "1", "2", "30"}), "OK");
    EXPECT_EQ(ask({"CALL", "balance", "1"}), "970");
    EXPECT_EQ(ask({"CALL", "total"}), "100000");
    EXPECT_EQ(ask({"CALL", "join", "-", "a", "", "c"}), "a--c");
    EXPECT_EQ(ask({"CALL", "join", "-"}), "");
    EXPECT_EQ(ask({"CALL", "maybe"}), "nil");
    EXPECT_EQ(ask({"CALL", "maybe", "0.25"}), "0.25");
    EXPECT_EQ(ask({"CALL", "join", "-", std::string("\0\r\n\xff", 4)}), std::string("\0\r\n\xff", 4));
    EXPECT_EQ(ask({"CALL", "large", "300000"}), std::string(300'000, 'x'));
}

TEST(calls, priority_and_deadline_come_before_the_name) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "how"}), "(2 0)");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "how"}), "(7 0)");
    EXPECT_EQ(ask({"CALL", "deadline", "1000000", "priority", "0", "--", "how"}), "(0 1)");
    EXPECT_EQ(ask({"CALL", "--", "how"}), "(2 0)");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "join", "-", "a", "b"}), "a-b");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "--"}),
              "-ARGUMENT wrong number of arguments for 'call' command: the procedure is missing");
    EXPECT_EQ(ask({"CALL", "PRIORITY"}), "-ARGUMENT PRIORITY needs a value");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7"}),
              "-ARGUMENT wrong number of arguments for 'call' command: the procedure is missing");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "priority", "8", "how"}), "-ARGUMENT PRIORITY is given twice");
}

TEST(calls, arguments_are_not_parsed_as_options) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "join", "-", "a", "PRIORITY", "31"}), "a-PRIORITY-31");
    EXPECT_EQ(ask({"CALL", "join", "-", "DEADLINE", "1", "PRIORITY", "x"}), "DEADLINE-1-PRIORITY-x");
    EXPECT_EQ(ask({"CALL", "join", "PRIORITY"}), "");
    EXPECT_EQ(ask({"CALL", "maybe", "PRIORITY", "31"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "echo_two", "PRIORITY", "31"}), "PRIORITY 31");
}

// Clients may pass a priority up to the procedure's bound; the program may pass any priority.
TEST(calls, a_procedure_limits_client_options) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "PRIORITY", "3", "bounded"}), "(3 0)");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "4", "bounded"}), "-ARGUMENT bounded: clients may set a PRIORITY from 0 to 3");
    EXPECT_EQ(ask({"CALL", "bounded", "PRIORITY", "4"}), "-ARGUMENT bounded: clients may set a PRIORITY from 0 to 3");
    EXPECT_EQ(ask({"CALL", "DEADLINE", "5", "bounded"}), "-ARGUMENT bounded: clients may not set a DEADLINE");
    EXPECT_EQ(answer_of(bank, "bounded", {.priority = 9}), "*2\r\n:9\r\n#f\r\n");
}

TEST(calls, options_may_follow_a_fixed_number_of_arguments) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "7"}), "(7 0)");
    EXPECT_EQ(ask({"CALL", "how", "deadline", "1000000", "priority", "0"}), "(0 1)");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "how", "DEADLINE", "1000000"}), "(7 1)");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "how", "PRIORITY", "8"}), "-ARGUMENT PRIORITY is given twice");
    EXPECT_EQ(ask({"CALL", "how", "x", "PRIORITY", "8"}),
              "-ARGUMENT how: wrong number of arguments: expected 0, got 3");
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY"}), "-ARGUMENT PRIORITY needs a value");
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "32"}), "-ARGUMENT PRIORITY is from 0 to 31");
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "x"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "how", "DEADLINE", "-1"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "how", "DEADLINE", "9223372036854775807"}).substr(0, 9), "-ARGUMENT");
}

TEST(calls, errors_have_stable_codes) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "nothing"}), "-NOPROC unknown procedure 'nothing'");
    EXPECT_EQ(ask({"CALL", "balance"}), "-ARGUMENT balance: wrong number of arguments: expected 1, got 0");
    EXPECT_EQ(ask({"CALL", "balance", "1", "2"}), "-ARGUMENT balance: wrong number of arguments: expected 1, got 2");
    EXPECT_EQ(ask({"CALL", "balance", "1x"}), "-ARGUMENT balance: '1x' is not a whole number");
    EXPECT_EQ(ask({"CALL", "balance", "99999999999999999999"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "balance", "1000"}), "-EXCEPTION balance: no such account");
    EXPECT_EQ(ask({"CALL", "fail", "two\r\nlines"}), "-EXCEPTION fail: two  lines");
    EXPECT_EQ(ask({"CALL", "throw_number"}).substr(0, 10), "-EXCEPTION");
    EXPECT_EQ(ask({"CALL", "transfer", "1", "2", "5000"}).substr(0, 10), "-CANCELLED");
    EXPECT_EQ(ask({"CALL"}).substr(0, 4), "-ERR");
    EXPECT_EQ(ask({"NONSENSE"}).substr(0, 4), "-ERR");
    EXPECT_EQ(ask({"CALL", "total"}), "100000") << "the others live on";
}

// Catches a block that a jump leaves open on the worker. Later calls would join that block, and would be lost with it.
TEST(calls, a_block_left_by_longjmp_is_rolled_back) {
    bank_server bank{{.workers = 1}};
    client ask{bank.port()};
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(ask({"CALL", "jump_out"}),
                  "-EXCEPTION jump_out: it left an atomic block by a jump (longjmp), and that block was rolled back; "
                  "leave a block by its end, an exception, or a cancel");
        EXPECT_EQ(ask({"CALL", "put", "1"}), "OK");
        EXPECT_EQ(client{bank.port()}({"CALL", "left"}), std::to_string(i));
    }
    // The same inside a block around several calls.
    EXPECT_EQ(ask({"MULTI"}), "OK");
    EXPECT_EQ(ask({"CALL", "put", "1"}), "QUEUED");
    EXPECT_EQ(ask({"CALL", "jump_out"}), "QUEUED");
    EXPECT_EQ(ask({"EXEC"}).substr(0, 10), "-EXCEPTION");
    EXPECT_EQ(ask({"CALL", "left"}), "3");
}

// Catches an exit of a thread that ends the worker or the process. Catches an exit that leaves its block open, or that
// commits the block.
void expect_errors_of_exits(settings how) {
    how.workers = 1;
    bank_server bank{std::move(how)};
    client ask{bank.port()};
    const auto expect_error = [](const std::string& answer, const std::string& name) {
        EXPECT_EQ(answer, "-EXCEPTION " + name +
                              ": it tried to end its thread (pthread_exit, or a cancellation), and its transaction was "
                              "rolled back; end a call by a return or an exception");
    };
    // A thread ignores cancellations after an exit, so this call comes first.
    expect_error(ask({"CALL", "pthread_cancel"}), "pthread_cancel");
    EXPECT_EQ(ask({"CALL", "left"}), "0");
    for (int i = 0; i < 3; ++i) {
        for (const std::string name : {"pthread_exit", "thrd_exit"}) {
            const long before = std::stol(ask({"CALL", "ends"}));
            expect_error(ask({"CALL", name}), name);
            EXPECT_EQ(ask({"CALL", "left"}), "0");
            EXPECT_EQ(std::stol(ask({"CALL", "ends"})), before + 1) << "destructors run";
        }
        for (const std::string handling : {"1", "0"})
            expect_error(ask({"CALL", "pthread_exit_plainly", handling}), "pthread_exit_plainly");
        // The same inside a block around several calls.
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", "put", "1"}), "QUEUED");
        EXPECT_EQ(ask({"CALL", "pthread_exit"}), "QUEUED");
        EXPECT_EQ(ask({"EXEC"}).substr(0, 10), "-EXCEPTION");
        EXPECT_EQ(ask({"CALL", "left"}), "0");
        // The worker continues, and other exceptions are still reported as errors of their own.
        EXPECT_EQ(ask({"CALL", "fail", "x"}), "-EXCEPTION fail: x");
        EXPECT_EQ(ask({"CALL", "wait"}).substr(0, 8), "-TIMEOUT");
    }
    EXPECT_EQ(ask({"CALL", "put", "1"}), "OK");
    EXPECT_EQ(ask({"CALL", "left"}), "1");
}

TEST(calls, pthread_exit_is_an_error_of_the_call) { expect_errors_of_exits({}); }
TEST(calls, pthread_exit_with_shared_locals_is_an_error) {
    expect_errors_of_exits({.preemption = {.shared_thread_locals = true}});
}
TEST(calls, pthread_exit_in_a_migrating_call_is_an_error) {
    settings how{.preemption = {.migrate = true}};
    try {
        const bank_server possible{how};
    } catch (const std::exception& e) {
        GTEST_SKIP() << e.what();
    }
    expect_errors_of_exits(how);
}

TEST(calls, late_calls_are_refused_on_request) {
    bank_server bank{{.workers = 1}};
    client ask{bank.port()};
    ask.send({"CALL", "gate"});
    ask.send({"CALL", "late", "DEADLINE", "1"});
    ask.send({"CALL", "noop", "DEADLINE", "1"});
    ask.send({"PING"});
    client other{bank.port()};
    EXPECT_EQ(other({"PING"}), "PONG");
    std::thread opener{[&] {
        bank.held.await(1);
        bank.held.open();
    }};
    EXPECT_EQ(ask.receive(), "OK");
    EXPECT_EQ(ask.receive().substr(0, 9), "-DEADLINE");
    EXPECT_EQ(ask.receive(), "OK");
    EXPECT_EQ(ask.receive(), "PONG");
    opener.join();
}

// An endless transaction, and one that sleeps in retry.
TEST(calls, a_time_limit_cancels_an_endless_call) {
    bank_server bank{{.workers = 2}};
    client ask{bank.port()};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask({"CALL", "loop"}).substr(0, 8), "-TIMEOUT");
        EXPECT_EQ(ask({"CALL", "wait"}).substr(0, 8), "-TIMEOUT");
    }
    // Both workers still work, and the cancelled calls do not harm the next ones.
    ask.send({"CALL", "gate"});
    ask.send({"CALL", "gate"});
    EXPECT_EQ(client{bank.port()}({"PING"}), "PONG");
    bank.held.await(2);
    bank.held.open();
    EXPECT_EQ(ask.receive() + ask.receive(), "OKOK");
}

// Catches a cancellation that ends the process at a noexcept function.
TEST(calls, a_time_limit_cancels_a_noexcept_call) {
    bank_server bank{{.workers = 1}};
    client ask{bank.port()};
    for (int i = 0; i < 3; ++i) {
        for (const std::string name :
             {"wait_noexcept", "wait_noexcept_owning", "wait_in_destructor", "loop_noexcept"}) {
            const std::string answer = ask({"CALL", name});
            EXPECT_TRUE(answer.starts_with("-TIMEOUT " + name)) << answer;
        }
    }
    EXPECT_EQ(ask({"CALL", "put", "1"}), "OK");
    EXPECT_EQ(ask({"CALL", "wait_noexcept"}), "OK");
    EXPECT_EQ(ask({"CALL", "left"}), "0");
}

// If one of several calls retries, the block around all these calls runs again. The retry signal passes through the
// procedure.
TEST(calls, noexcept_calls_in_exec_may_run_again) {
    bank_server bank{{.workers = 2}};
    client ask{bank.port()}, other{bank.port()};
    for (const std::string name : {"take_noexcept", "take_noexcept_owning", "take_in_destructor"}) {
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", name}), "QUEUED");
        ask.send({"EXEC"});
        while (number_of(other({"INFO"}), "running") + number_of(other({"INFO"}), "parked") == 0)
            std::this_thread::yield();
        EXPECT_EQ(other({"CALL", "put", "1"}), "OK");
        EXPECT_EQ(ask.receive(), "(OK)");
        EXPECT_EQ(ask({"CALL", "left"}), "0");
    }
}

// The call never reaches a transaction, so it cannot be cancelled. Its client still gets an answer in time.
TEST(calls, a_time_limit_answers_uncancellable_calls) {
    bank_server bank{{.workers = 1}, std::chrono::milliseconds{1}};
    client ask{bank.port()};
    ask.send({"CALL", "gate"});
    ask.send({"PING"});
    EXPECT_EQ(ask.receive().substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(ask.receive(), "PONG");
    bank.held.open();
    EXPECT_EQ(ask({"CALL", "count"}), "1") << "answered once";
}

TEST(calls, a_time_limit_respects_reply_off) {
    bank_server bank{{.workers = 1}, std::chrono::milliseconds{1}};
    client ask{bank.port()};
    ask.send({"CLIENT", "REPLY", "SKIP"});
    ask.send({"CALL", "gate"});
    ask.send({"PING"});
    EXPECT_EQ(ask.receive(), "PONG");
}

TEST(calls, a_time_limit_applies_to_program_calls) {
    bank_server bank{{.workers = 1}};
    EXPECT_EQ(answer_of(bank, "loop").substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(answer_of(bank, "wait").substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(answer_of(bank, "noop"), "+OK\r\n");
    const std::string info = bank->info();
    EXPECT_NE(info.find("procedure_noop:OK=1,"), std::string::npos) << "they are counted: " << info;
    EXPECT_NE(info.find("TIMEOUT=1", info.find("procedure_loop:")), std::string::npos) << info;
}

TEST(calls, a_time_limit_answers_a_running_program_call) {
    bank_server bank{{.workers = 1, .time_limit = std::chrono::milliseconds{1}}};
    EXPECT_EQ(answer_of(bank, "gate").substr(0, 8), "-TIMEOUT");
    bank.held.open();
    bank->drain();
    EXPECT_NE(bank->info().find("procedure_gate:OK=1,"), std::string::npos) << "it was counted once, by how it ended";
}

// If a transaction of a callback is aborted, it runs again, although the callback's call has been interrupted.
TEST(calls, callbacks_of_cancelled_calls_may_run_transactions) {
    bank_server bank{{.workers = 1}};
    for (const std::string_view name : {"loop", "wait"}) EXPECT_EQ(attempts_after(bank, name), 2) << name;
}

TEST(calls, answers_keep_the_order_of_their_requests) {
    bank_server bank{{.workers = 3}};
    client ask{bank.port()};
    const std::size_t rounds = support::rounds(2000);
    for (std::size_t i = 0; i < rounds; ++i) {
        ask.send({"CALL", "PRIORITY", std::to_string(i % 32), "join", "", std::to_string(i)});
        if (i % 3 == 0) ask.send({"ECHO", "e" + std::to_string(i)});
    }
    for (std::size_t i = 0; i < rounds; ++i) {
        ASSERT_EQ(ask.receive(), std::to_string(i));
        if (i % 3 == 0) {
            ASSERT_EQ(ask.receive(), "e" + std::to_string(i));
        }
    }
}

// The highest priority runs first even if few calls have a context yet.
TEST(calls, the_highest_priority_runs_first) {
    bank_server bank{{.workers = 1, .preemption = {.contexts = 2}}};
    std::mutex mutex;
    std::vector<int> order;
    const auto finished = bank->call<void>("gate", {});
    bank.held.await(1);
    std::vector<std::future<void>> all;
    for (const int p : {1, 9, 3, 9, 5}) {
        auto promised = std::make_shared<std::promise<void>>();
        all.push_back(promised->get_future());
        bank->call_raw("noop", {}, {.priority = p}, [&, p, promised](std::string_view) {
            const std::scoped_lock lock{mutex};
            order.push_back(p);
            promised->set_value();
        });
    }
    bank.held.open();
    for (auto& f : all) f.get();
    EXPECT_EQ(order, (std::vector{9, 9, 5, 3, 1}));
}

TEST(calls, a_program_calls_without_a_socket) {
    service bank{{.workers = 2}};
    bank.load(BANK_PROCEDURES);
    bank.start();
    EXPECT_EQ(bank.port(), 0);
    bank.call<void>("transfer", {}, 1, 2, 30).get();
    EXPECT_EQ(bank.call<long>("balance", {.priority = 9}, 2).get(), 1030);
    EXPECT_EQ(bank.call<std::string>("join", {}, "-", std::string{"a"}, 7).get(), "a-7");
    auto failing = bank.call<void>("fail", {}, "why");
    EXPECT_THROW(bank.call<void>("nothing", {}).get(), call_error);
    EXPECT_THROW(bank.call<void>("balance", {}).get(), call_error);
    EXPECT_THROW(bank.call<void>("noop", {.priority = 99}).get(), call_error);
    bank.drain();
    EXPECT_THROW(bank.call<void>("noop", {}).get(), call_error);
    // The test looks at the exception only now, after the worker has ended. The worker had a reference to the
    // exception, and ThreadSanitizer does not see how the C++ library counts references.
    try {
        failing.get();
        FAIL();
    } catch (const call_error& e) {
        EXPECT_EQ(e.code(), "EXCEPTION");
        EXPECT_STREQ(e.what(), "fail: why");
    }
}

TEST(calls, clients_introduce_themselves) {
    bank_server bank{{.password = "open sesame"}};
    client ask{bank.port()};
    EXPECT_EQ(ask({"PING"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(ask({"CALL", "noop"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(ask({"AUTH", "open sesam"}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(ask({"AUTH", "open sesameopen sesame"}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(ask({"AUTH", "somebody", "open sesame"}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(ask({"AUTH", ""}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(ask({"HELLO", "2"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(ask({"AUTH", "open sesame"}), "OK");
    EXPECT_EQ(ask({"CALL", "noop"}), "OK");
    EXPECT_EQ(ask({"CLIENT", "SETNAME", "me"}), "OK");
    EXPECT_EQ(ask({"CLIENT", "GETNAME"}), "me");
    EXPECT_EQ(ask({"CONFIG", "GET", "save"}), "(save )");
    EXPECT_NE(ask({"INFO"}).find("connected_clients:1"), std::string::npos);
    EXPECT_EQ(ask({"QUIT"}), "OK");
    EXPECT_EQ(ask.receive(), "closed");
    client other{bank.port()};
    EXPECT_EQ(other({"HELLO", "2", "AUTH", "default", "open sesame"}).substr(0, 14), "(server tutti ");
    EXPECT_EQ(other({"PING"}), "PONG");
}

TEST(calls, clients_are_listed_and_killed) {
    bank_server bank{{.io_threads = 2}};
    client ask{bank.port()}, other{bank.port()};
    EXPECT_EQ(ask({"CLIENT", "SETNAME", "two words"}).substr(0, 4), "-ERR");
    EXPECT_EQ(ask({"CLIENT", "SETINFO", "LIB-NAME", "hiredis"}), "OK");
    EXPECT_EQ(other({"CLIENT", "SETNAME", "other"}), "OK");
    const std::string own = ask({"CLIENT", "INFO"});
    EXPECT_EQ(own.substr(0, own.find(" age=")).substr(own.find(" name=")), " name=");
    EXPECT_NE(own.find(" lib-name=hiredis lib-ver=\n"), std::string::npos) << own;
    const std::string all = ask({"CLIENT", "LIST"});
    EXPECT_EQ(std::ranges::count(all, '\n'), 2);
    EXPECT_NE(all.find(" name=other "), std::string::npos) << all;
    EXPECT_EQ(ask({"CLIENT", "KILL", "ID", "99"}), "0");
    EXPECT_EQ(ask({"CLIENT", "KILL", "ID", other({"CLIENT", "ID"})}), "1");
    EXPECT_EQ(other.receive(), "closed");
    EXPECT_EQ(ask({"CLIENT", "KILL", "SKIPME", "YES"}), "0");
    EXPECT_EQ(ask({"CLIENT", "KILL", "127.0.0.1:1"}), "-ERR No such client");
    for (const char* const unknown : {"NO-EVICT", "TRACKING", "PAUSE"})
        EXPECT_EQ(ask({"CLIENT", unknown, "ON"}).substr(0, 4), "-ERR");
    const std::string address = own.substr(own.find("addr=") + 5, own.find(" name=") - own.find("addr=") - 5);
    ask({"CLIENT", "KILL", address});
    EXPECT_EQ(ask.receive(), "closed");
}

TEST(calls, clients_may_disable_answers) {
    bank_server bank;
    client ask{bank.port()};
    ask.send({"CLIENT", "REPLY", "OFF"});
    ask.send({"CALL", "count"});
    ask.send({"CALL", "nothing"});
    EXPECT_EQ(ask({"CLIENT", "REPLY", "ON"}), "OK");
    ask.send({"CLIENT", "REPLY", "SKIP"});
    ask.send({"CALL", "count"});
    EXPECT_EQ(ask({"CALL", "count"}), "3");
}

TEST(calls, exec_runs_one_transaction) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"MULTI"}), "OK");
    EXPECT_EQ(ask({"CALL", "transfer", "1", "2", "30"}), "QUEUED");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "3", "balance", "1"}), "QUEUED");
    EXPECT_EQ(client{bank.port()}({"CALL", "balance", "1"}), "1000");
    EXPECT_EQ(ask({"EXEC"}), "(OK 970)");
    EXPECT_EQ(ask({"EXEC"}), "-ERR EXEC without MULTI");
    EXPECT_EQ(ask({"MULTI"}), "OK");
    EXPECT_EQ(ask({"EXEC"}), "()");
}

// The second call fails after the first has moved money.
TEST(calls, exec_has_no_effect_if_a_call_fails) {
    bank_server bank;
    client ask{bank.port()};
    for (const auto& failing : {words{"CALL", "transfer", "3", "4", "5000"}, words{"CALL", "fail", "why"}}) {
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", "transfer", "1", "2", "30"}), "QUEUED");
        EXPECT_EQ(ask(failing), "QUEUED");
        const std::string answer = ask({"EXEC"});
        EXPECT_TRUE(answer.starts_with("-CANCELLED EXEC: transfer: ") || answer == "-EXCEPTION EXEC: fail: why")
            << answer;
        EXPECT_EQ(ask({"CALL", "balance", "1"}), "1000");
    }
}

// Catches a client that makes the server hold memory that is not counted.
TEST(calls, queued_calls_count_as_buffered) {
    bank_server bank;
    client ask{bank.port()}, other{bank.port()};
    const auto held = [&] { return number_of(other({"INFO"}), "buffered_bytes"); };
    EXPECT_EQ(ask({"MULTI"}), "OK");
    EXPECT_EQ(ask({"CALL", "fail", std::string(100'000, 'x')}), "QUEUED");
    EXPECT_GT(held(), 100'000U);
    EXPECT_EQ(ask({"DISCARD"}), "OK");
    EXPECT_LT(held(), 100'000U);
}

// Catches answers that are counted only when it is their turn to be sent.
TEST(calls, pipelined_calls_count_as_buffered) {
    bank_server bank{{.workers = 2}};
    client ask{bank.port()}, other{bank.port()};
    ask.send({"CALL", "gate"});
    ask.send({"CALL", "fail", std::string(100'000, 'x')});
    while (number_of(other({"INFO"}), "buffered_bytes") < 200'000) std::this_thread::yield();
    bank.held.open();
    EXPECT_EQ(ask.receive(), "OK");
    EXPECT_EQ(ask.receive().size(), std::string{"-EXCEPTION fail: "}.size() + 100'000);
}

TEST(calls, exec_is_refused_after_a_refused_call) {
    bank_server bank;
    client ask{bank.port()};
    for (const auto& refused : {words{"CALL", "nothing"}, words{"CALL", "balance"}, words{"CALL"}, words{"GET", "x"},
                                words{"MULTI"}, words{"WATCH", "x"}, words{"CALL", "PRIORITY", "x", "noop"}}) {
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", "transfer", "1", "2", "30"}), "QUEUED");
        EXPECT_EQ(ask(refused).front(), '-');
        const bool nested = refused[0] == "MULTI";
        EXPECT_EQ(ask({nested ? "DISCARD" : "EXEC"}).substr(0, 10), nested ? "OK" : "-EXECABORT");
        EXPECT_EQ(ask({"CALL", "balance", "1"}), "1000");
    }
    EXPECT_EQ(ask({"DISCARD"}), "-ERR DISCARD without MULTI");
}

// Without one transaction over both calls, another client would see a total between a withdrawal and its deposit.
TEST(calls, exec_is_atomic_for_readers) {
    bank_server bank{{.workers = 2}};
    client ask{bank.port()}, other{bank.port()};
    EXPECT_EQ(ask({"CALL", "put", "1"}), "OK");
    const std::size_t rounds = support::rounds(300);
    std::atomic<bool> over{false};
    std::thread watcher{[&] {
        while (!over) ASSERT_EQ(other({"CALL", "left"}), "1");
    }};
    for (std::size_t i = 0; i < rounds; ++i) {
        for (const auto& each : {words{"MULTI"}, words{"CALL", "take"}, words{"CALL", "put", "1"}, words{"EXEC"}})
            ask.send(each);
        std::string answers;
        for (int n = 0; n < 4; ++n) answers += ask.receive();
        EXPECT_EQ(answers, "OKQUEUEDQUEUED(OK OK)");
    }
    over = true;
    watcher.join();
}

TEST(calls, calls_with_an_id_run_once) {
    bank_server bank{{.workers = 2, .max_cached_replies = 3}};
    client ask{bank.port()}, again{bank.port()};
    EXPECT_EQ(ask({"CALL", "ID", "a", "count"}), "1");
    EXPECT_EQ(again({"CALL", "ID", "a", "count"}), "1");
    EXPECT_EQ(ask({"CALL", "ID", "b", "count"}), "2");
    EXPECT_EQ(ask({"CALL", "ID", "a", "balance", "1"}), "-ARGUMENT this ID belongs to another call");
    EXPECT_EQ(ask({"CALL", "ID", "fails", "fail", "why"}), "-EXCEPTION fail: why");
    EXPECT_EQ(again({"CALL", "ID", "fails", "fail", "why"}), "-EXCEPTION fail: why");
    ask.send({"CALL", "ID", "slow", "gate"});
    bank.held.await(1);
    EXPECT_EQ(again({"CALL", "ID", "slow", "gate"}).substr(0, 5), "-BUSY");
    bank.held.open();
    EXPECT_EQ(ask.receive(), "OK");
    EXPECT_EQ(again({"CALL", "ID", "slow", "gate"}), "OK");
    EXPECT_EQ(again({"CALL", "ID", "a", "count"}), "3") << "the oldest is forgotten";
    EXPECT_EQ(ask({"CALL", "ID", ""}).substr(0, 9), "-ARGUMENT");
}

// A call that has not run is not remembered.
TEST(calls, refused_calls_with_an_id_may_be_repeated) {
    bank_server bank{{.workers = 1, .max_queued_calls = 1}};
    client first{bank.port()}, second{bank.port()}, third{bank.port()};
    first.send({"CALL", "gate"});
    bank.held.await(1);
    second.send({"CALL", "noop"});
    while (third({"INFO"}).find("\r\nqueued_") == std::string::npos) {}
    EXPECT_EQ(third({"CALL", "ID", "x", "count"}).substr(0, 5), "-BUSY");
    bank.held.open();
    EXPECT_EQ(first.receive(), "OK");
    EXPECT_EQ(second.receive(), "OK");
    EXPECT_EQ(third({"CALL", "ID", "x", "count"}), "1");
    EXPECT_EQ(third({"CALL", "ID", "x", "count"}), "1");
}

TEST(calls, exec_with_an_id_runs_once) {
    bank_server bank;
    client ask{bank.port()};
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", "count"}), "QUEUED");
        EXPECT_EQ(ask({"EXEC", "ID", "both"}), "(1)");
    }
    EXPECT_EQ(ask({"MULTI"}), "OK");
    EXPECT_EQ(ask({"CALL", "ID", "one", "count"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"DISCARD"}), "OK");
}

// Catches a key whose length is bounded only for single calls: the server would hold the key's memory uncounted.
TEST(calls, ids_have_at_most_128_bytes) {
    bank_server bank;
    client ask{bank.port()};
    const std::string longest(128, 'k'), refused = "-ARGUMENT ID needs a key of 1 to 128 bytes";
    const auto several = [&](const std::string& key) {
        EXPECT_EQ(ask({"MULTI"}), "OK");
        EXPECT_EQ(ask({"CALL", "count"}), "QUEUED");
        return ask({"EXEC", "ID", key});
    };
    EXPECT_EQ(several(longest), "(1)");
    for (const std::string& key : {longest + "k", std::string{}}) {
        EXPECT_EQ(ask({"CALL", "ID", key, "count"}), refused);
        EXPECT_EQ(several(key), refused);
        EXPECT_EQ(ask({"DISCARD"}), "OK");
    }
    EXPECT_EQ(ask({"CALL", "counted"}), "1");
}

TEST(calls, commands_are_described) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"COMMAND", "INFO", "get", "call", "ping"}), "(nil (call -2 (fast) 0 0 0) (ping -1 (fast) 0 0 0))");
    EXPECT_EQ(ask({"COMMAND", "COUNT"}), "21");
    EXPECT_EQ(ask({"COMMAND", "NONSENSE"}).substr(0, 4), "-ERR");
}

TEST(calls, resp3_has_more_types) {
    bank_server bank;
    bare_socket talk{bank.port()};
    talk.send("HELLO 3\r\nCALL maybe -nan\r\nCALL maybe 0.5\r\nCALL maybe\r\nQUIT\r\n");
    const std::string all = talk.receive_all();
    EXPECT_EQ(all.substr(0, 4), "%4\r\n");
    EXPECT_NE(all.find("\r\n,nan\r\n,0.5\r\n_\r\n+OK\r\n"), std::string::npos) << all;
}

TEST(calls, a_unix_socket_serves_too) {
    const std::string path = testing::TempDir() + "tutti-" + std::to_string(::getpid());
    {
        bank_server bank{{.unix_socket = path}};
        EXPECT_EQ(client{path}({"CALL", "balance", "3"}), "1000");
        EXPECT_THROW((bank_server{{.unix_socket = path}}), std::system_error) << "it is in use";
        EXPECT_EQ(client{path}({"PING"}), "PONG");
    }
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it leaves nothing behind";
}

TEST(registration, names_mistakes) {
    service bank{{}};
    const auto refusal = [&](auto f) -> std::string {
        try {
            f();
            return "none";
        } catch (const registration_error& e) {
            return e.what();
        }
    };
    bank.load(BANK_PROCEDURES);
    EXPECT_EQ(refusal([&] { bank.load(BANK_PROCEDURES); }), BANK_PROCEDURES ": procedure 'noop' is registered twice");
    EXPECT_NE(refusal([&] { bank.procedures().add("two words", {}, [] {}); }).find("two words"), std::string::npos);
    EXPECT_NE(refusal([&] { bank.procedures().add("p", {.priority = 32}, [] {}); }).find("32"), std::string::npos);
    EXPECT_NE(refusal([&] { bank.procedures().add("p", {.max_client_priority = 32}, [] {}); }).find("32"),
              std::string::npos);
    EXPECT_EQ(refusal([&] { bank.procedures().add("deadline", {}, [] {}); }),
              "procedure 'deadline' has the name of an option of CALL");
    EXPECT_NE(refusal([&] { bank.load("/nonexistent/app.so"); }).find("/nonexistent/app.so cannot be loaded"),
              std::string::npos);
    EXPECT_NE(refusal([&] { bank.load("/proc/self/exe"); }), "none");
    EXPECT_NE(refusal([&] { bank.load("libhiredis.so.0.14"); }).find("cannot be loaded"), std::string::npos);
}

}  // namespace
}  // namespace tutti::server
