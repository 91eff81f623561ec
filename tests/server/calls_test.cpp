// What a caller gets, over a socket and from within the program. Catches answers out of order, wrong codes, and errors
// of one procedure that reach others.

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

using words = std::vector<std::string>;

TEST(calls, arguments_and_results_travel) {
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

TEST(calls, priority_and_deadline_come_last) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "how"}), "(2 0)");
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "7"}), "(7 0)");
    EXPECT_EQ(ask({"CALL", "how", "deadline", "1000000", "priority", "0"}), "(0 1)");
    EXPECT_EQ(ask({"CALL", "join", "PRIORITY"}), "") << "what is needed is no option";
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "32"}), "-ARGUMENT PRIORITY is from 0 to 31");
    EXPECT_EQ(ask({"CALL", "how", "PRIORITY", "x"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "how", "DEADLINE", "-1"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"CALL", "how", "DEADLINE", "9223372036854775807"}).substr(0, 9), "-ARGUMENT");
}

TEST(calls, errors_have_stable_codes) {
    bank_server bank;
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "nothing"}), "-NOPROC there is no procedure 'nothing'");
    EXPECT_EQ(ask({"CALL", "balance"}), "-ARGUMENT balance: it takes 1 arguments and was given 0");
    EXPECT_EQ(ask({"CALL", "balance", "1", "2"}), "-ARGUMENT balance: it takes 1 arguments and was given 2");
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

TEST(calls, a_call_past_its_deadline_is_refused_where_it_says_so) {
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
TEST(calls, a_time_limit_cancels_what_runs_for_ever) {
    bank_server bank{{.workers = 2}};
    client ask{bank.port()};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask({"CALL", "loop"}).substr(0, 8), "-TIMEOUT");
        EXPECT_EQ(ask({"CALL", "wait"}).substr(0, 8), "-TIMEOUT");
    }
    // Neither worker is lost, nor does what was cancelled harm what runs next.
    ask.send({"CALL", "gate"});
    ask.send({"CALL", "gate"});
    EXPECT_EQ(client{bank.port()}({"PING"}), "PONG");
    bank.held.await(2);
    bank.held.open();
    EXPECT_EQ(ask.receive() + ask.receive(), "OKOK");
}

// It reaches no transaction, so it cannot be cancelled; its client need not wait for it.
TEST(calls, a_time_limit_answers_even_what_cannot_be_cancelled) {
    bank_server bank{{.workers = 1}, std::chrono::milliseconds{1}};
    client ask{bank.port()};
    ask.send({"CALL", "gate"});
    ask.send({"PING"});
    EXPECT_EQ(ask.receive().substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(ask.receive(), "PONG");
    bank.held.open();
    EXPECT_EQ(ask({"CALL", "count"}), "1") << "answered once";
}

TEST(calls, a_time_limit_holds_for_the_program_too) {
    bank_server bank{{.workers = 1}};
    EXPECT_EQ(answer_of(bank, "loop").substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(answer_of(bank, "wait").substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(answer_of(bank, "noop"), "+OK\r\n");
    const std::string info = bank->info();
    EXPECT_NE(info.find("procedure_noop:OK=1,"), std::string::npos) << "they are counted: " << info;
    EXPECT_NE(info.find("TIMEOUT=1", info.find("procedure_loop:")), std::string::npos) << info;
}

TEST(calls, a_time_limit_answers_the_program_while_the_call_still_runs) {
    bank_server bank{{.workers = 1, .time_limit = std::chrono::milliseconds{1}}};
    EXPECT_EQ(answer_of(bank, "gate").substr(0, 8), "-TIMEOUT");
    bank.held.open();
    bank->drain();
    EXPECT_NE(bank->info().find("procedure_gate:OK=1,"), std::string::npos) << "it was counted once, by how it ended";
}

// What is aborted there runs again, although its call has been interrupted.
TEST(calls, who_takes_the_answer_of_a_cancelled_call_may_run_transactions) {
    bank_server bank{{.workers = 1}};
    for (const std::string_view name : {"loop", "wait"}) EXPECT_EQ(attempts_after(bank, name), 2) << name;
}

TEST(calls, answers_keep_the_order_of_their_requests) {
    bank_server bank{{.workers = 3}};
    client ask{bank.port()};
    const std::size_t rounds = support::rounds(2000);
    for (std::size_t i = 0; i < rounds; ++i) {
        ask.send({"CALL", "join", "", std::to_string(i), "PRIORITY", std::to_string(i % 32)});
        if (i % 3 == 0) ask.send({"ECHO", "e" + std::to_string(i)});
    }
    for (std::size_t i = 0; i < rounds; ++i) {
        ASSERT_EQ(ask.receive(), std::to_string(i));
        if (i % 3 == 0) {
            ASSERT_EQ(ask.receive(), "e" + std::to_string(i));
        }
    }
}

// Also where hardly any call has a context yet.
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
    // Only now: ThreadSanitizer does not see how the C++ library counts references to an exception, and the worker,
    // which is over, had one.
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

TEST(calls, resp3_has_more_types) {
    bank_server bank;
    bare_socket talk{bank.port()};
    talk.send("HELLO 3\r\nCALL maybe 0.5\r\nCALL maybe\r\nQUIT\r\n");
    const std::string all = talk.receive_all();
    EXPECT_EQ(all.substr(0, 4), "%4\r\n");
    EXPECT_NE(all.find("\r\n,0.5\r\n_\r\n+OK\r\n"), std::string::npos) << all;
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

TEST(registration, mistakes_are_named) {
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
    EXPECT_NE(refusal([&] { bank.load("/nonexistent/app.so"); }).find("/nonexistent/app.so cannot be loaded"),
              std::string::npos);
    EXPECT_NE(refusal([&] { bank.load("/proc/self/exe"); }), "none");
    EXPECT_NE(refusal([&] { bank.load("libhiredis.so.0.14"); }).find("cannot be loaded"), std::string::npos);
}

}  // namespace
}  // namespace tutti::server
