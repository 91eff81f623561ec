// An accepted request is never lost, answered twice or run twice, while clients die at random and when the server ends.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "server/counted_calls.hpp"
#include "server/net/sockets.hpp"

namespace tutti::server {
namespace {

/// The answers that one client got.
struct answers {
    std::size_t ok = 0;
    std::size_t refused = 0;
};

/// Counts complete lines of answers to `count`. Ignores an incomplete line at the end.
answers tally(const std::string& text) {
    answers a;
    for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; at += 2) {
        const std::size_t begin = text.rfind('\n', at);
        (text[begin == std::string::npos ? 0 : begin + 1] == ':' ? a.ok : a.refused)++;
    }
    return a;
}

TEST(drain, accepted_calls_are_answered_and_no_others_run) {
    for (int round = 0; round < 5; ++round) {
        bank_server bank{{.io_threads = 2, .workers = 2}};
        std::atomic<std::size_t> ok{0}, refused{0};
        std::vector<std::thread> clients;
        std::atomic<int> answered{0};
        for (int c = 0; c < 4; ++c) {
            auto connected = std::make_unique<bare_socket>(bank.port());
            clients.emplace_back([&, connected = std::move(connected)] {
                bare_socket& talk = *connected;
                std::string text;
                const std::string some = [] {
                    std::string s;
                    for (int i = 0; i < 50; ++i) s += wire({"CALL", "count"});
                    return s;
                }();
                while (talk.send(some)) {
                    const std::string got = talk.receive_lines(50);
                    text += got;
                    if (std::ranges::count(got, '\n') < 50) break;
                    ++answered;
                }
                text += talk.receive_all();
                const answers mine = tally(text);
                ok += mine.ok;
                refused += mine.refused;
            });
        }
        while (answered < 20) std::this_thread::yield();
        const auto calls_so_far = [&] { return bank->call<long>("count", {}).get(); };
        EXPECT_GT(calls_so_far(), 0);
        bank->drain();
        for (auto& c : clients) c.join();
        const std::string info = bank->info();
        const std::string line = "procedure_count:OK=";
        const std::size_t served = std::stoul(info.substr(info.find(line) + line.size()));
        EXPECT_EQ(ok + 1, served) << "with the program's own";
        EXPECT_GT(ok, 0U);
    }
}

TEST(drain, killed_clients_lose_answers_but_no_call) {
    bank_server bank{{.io_threads = 1, .workers = 2}};
    std::mt19937 random{7};
    std::size_t sent = 0;
    const std::size_t rounds = support::rounds(200);
    for (std::size_t i = 0; i < rounds; ++i) {
        bare_socket victim{bank.port()};
        const std::size_t calls = 1 + random() % 40;
        std::string all;
        for (std::size_t n = 0; n < calls; ++n) all += wire({"CALL", "count"});
        victim.send(all + "*2\r\n$4\r\nCA");
        // At least one answer: by then the server has read the piece that contains this call, and pieces contain whole
        // calls.
        const std::string got = victim.receive(1 + random() % 3);
        EXPECT_EQ(got.front(), ':');
        if (random() % 2 == 0) victim.reset();
        sent += calls;
    }
    bank->drain();
    const std::string info = bank->info();
    EXPECT_NE(info.find("procedure_count:OK=" + std::to_string(sent) + ",BUSY=0"), std::string::npos) << sent << info;
    EXPECT_NE(info.find("connected_clients:0"), std::string::npos);
}

TEST(drain, every_call_is_run_once_and_answered_once) {
    bank_server bank{{.io_threads = 2, .workers = 2}};
    expect_each_once(bank, {.connections = 4, .calls = 25'000, .ahead = 100, .request = [](std::mt19937&) {
                                return std::vector<std::string>{"CALL", "count"};
                            }});
}

// A client's call delays the end. Without the refusal, new calls of the program would delay the end further and
// further.
TEST(drain, program_calls_are_refused_at_shutdown) {
    bank_server bank{{.workers = 2, .write_timeout = std::chrono::milliseconds{100}}};  // the client does not leave
    client ask{bank.port()};
    ask.send({"CALL", "gate"});
    EXPECT_EQ(client{bank.port()}({"PING"}), "PONG");
    bank.held.await(1);
    std::thread ending{[&] { bank->drain(); }};
    while (answer_of(bank, "noop") == "+OK\r\n") {}
    EXPECT_EQ(answer_of(bank, "noop").substr(0, 9), "-SHUTDOWN");
    bank.held.open();
    ending.join();
    EXPECT_EQ(ask.receive(), "OK") << "what was accepted before is answered";
}

// Catches an end that waits forever for sleeping calls that nothing can wake. Catches an end that does not wait for
// other calls that can wake the sleeping calls. With threads, the sleeping calls and the gate occupy every worker.
TEST(drain, calls_stranded_in_retry_end_with_an_error) {
    bank_server bank{{.workers = 4, .preemption = {.contexts = 4}}};
    auto answer = std::async(std::launch::async, [&] { return client{bank.port()}({"CALL", "take"}); });
    std::future<void> others[] = {bank->call<void>("take", {}), bank->call<void>("take", {})};
    while (bank->call<long>("counted", {}).get() != 3) std::this_thread::yield();
    std::future<void> gate = bank->call<void>("gate", {});
    bank.held.await(1);
    std::future<void> put = bank->call<void>("put", {}, 2);
    std::thread ending{[&] { bank->drain(); }};
    bank.held.open();
    ending.join();
    EXPECT_NO_THROW(gate.get());
    EXPECT_NO_THROW(put.get());
    const std::string first = answer.get();
    int taken = first == "OK" ? 1 : 0, stranded = first.starts_with("-STRANDED take: ") ? 1 : 0;
    for (auto& other : others) {
        try {
            other.get();
            ++taken;
        } catch (const call_error& e) {
            EXPECT_EQ(e.code(), "STRANDED") << e.what();
            ++stranded;
        }
    }
    EXPECT_EQ(taken, 2);
    EXPECT_EQ(stranded, 1);
    EXPECT_NE(bank->info().find("procedure_take:OK=2,"), std::string::npos);
}

// Catches a shutdown that throws an exception through a noexcept function, which terminates the process.
TEST(drain, noexcept_calls_stranded_in_retry_end_with_an_error) {
    bank_server bank{{.workers = 2}};
    std::future<void> waits[] = {bank->call<void>("take_noexcept", {}), bank->call<void>("take_in_destructor", {})};
    bank->drain();
    for (auto& each : waits) {
        try {
            each.get();
            ADD_FAILURE() << "it came to its end";
        } catch (const call_error& e) {
            EXPECT_EQ(e.code(), "STRANDED") << e.what();
        }
    }
}

// An interruption does not end an undo action. This test is for the executor of threads; retry_test.cpp covers the
// preemptive executor. Catches an end that chooses only the undo action again and again, and an end that lets the undo
// action spin.
TEST(drain, an_endless_call_does_not_delay_other_clients) {
    tutti::var<int> key{0}, never{0};
    const auto wait_for = [](const tutti::var<int>& v) {
        tutti::atomically([&](tutti::tx& t) {
            if (v.get(t) == 0) tutti::retry(t);
        });
    };
    service other{{.workers = 2, .executor = execution::threads}};
    other.procedures().add("undo", {}, [&] {
        static_cast<void>(tutti::try_atomically([&](tutti::tx& t) {
            t.on_abort([&] { wait_for(key); });
            tutti::cancel(t);
        }));
    });
    other.procedures().add("wait", {}, [&] { wait_for(never); });
    other.start();
    std::future<void> undo = other.call<void>("undo", {}), waits = other.call<void>("wait", {});
    std::thread ending{[&] { other.drain(); }};
    try {
        waits.get();
        ADD_FAILURE() << "it came to its end";
    } catch (const call_error& e) {
        EXPECT_EQ(e.code(), "STRANDED") << e.what();
    }
    key.store(1);
    ending.join();
    EXPECT_NO_THROW(undo.get());
}

// If the end did not exempt idle clients, it would wait for the write timeout.
TEST(drain, idle_clients_do_not_delay_the_end) {
    bank_server bank{{.write_timeout = std::chrono::hours{1}}};
    bare_socket silent{bank.port()};
    client used{bank.port()};
    EXPECT_EQ(used({"CALL", "noop"}), "OK");
    bank->drain();
    EXPECT_EQ(silent.receive_all(), "");
    EXPECT_EQ(used.receive(), "closed");
}

TEST(drain, new_clients_are_refused_at_shutdown) {
    bank_server bank{{.workers = 1}};
    client waits{bank.port()};
    waits.send({"CALL", "gate"});
    bank.held.await(1);
    std::thread ending{[&] { bank->drain(); }};
    for (bool refused = false; !refused;) {
        try {
            bare_socket{bank.port()};
        } catch (const std::runtime_error&) {
            refused = true;
        }
    }
    bank.held.open();
    EXPECT_EQ(waits.receive(), "OK");
    ending.join();
}

// Clients that connect between the two servers wait for the second one.
TEST(drain, an_inherited_socket_is_left_to_the_next_server) {
    const handle listener = listen_tcp("127.0.0.1", 0);
    const auto next_server = [&] {
        auto made = std::make_unique<service>(settings{.inherited = {::dup(listener.get())}});
        made->load(BANK_PROCEDURES);
        made->start();
        return made;
    };
    auto first = next_server();
    EXPECT_EQ(first->port(), port_of(listener));
    EXPECT_EQ(client{first->port()}({"PING"}), "PONG");
    first.reset();
    client early{port_of(listener)};
    early.send({"PING"});
    const auto second = next_server();
    EXPECT_EQ(early.receive(), "PONG");
    service third{{.inherited = {0}}};
    EXPECT_THROW(third.start(), std::invalid_argument);
}

TEST(drain, a_child_of_fork_does_not_keep_the_port) {
    std::uint16_t port = 0;
    pid_t child = 0;
    {
        bank_server bank;
        port = bank.port();
        child = ::fork();
        if (child == 0) {
            for (;;) ::pause();
        }
    }
    EXPECT_THROW(bare_socket{port}, std::runtime_error);
    EXPECT_NO_THROW((void)listen_tcp("127.0.0.1", port));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(drain, at_end_runs_last_and_may_fail) {
    bank_server bank;
    bool ran = false;
    service other{{}};
    other.procedures().at_end([&] { ran = true; });
    other.procedures().at_end([] { throw std::runtime_error{"not consistent"}; });
    other.start();
    EXPECT_FALSE(ran);
    EXPECT_THROW(other.drain(), std::runtime_error);
    EXPECT_TRUE(ran);
    EXPECT_NO_THROW(other.drain()) << "once";
}

TEST(drain, at_end_does_not_run_without_a_start) {
    bank_server bank;
    bool ran = false;
    {
        service other{{.port = bank.port()}};  // the port is already in use
        other.procedures().at_end([&] { ran = true; });
        EXPECT_THROW(other.start(), std::system_error);
        EXPECT_NO_THROW(other.drain());
    }
    EXPECT_FALSE(ran);
}

// A checked server does not listen, so it can be checked beside the running server that it will replace.
TEST(drain, at_end_does_not_run_after_a_check) {
    bank_server bank;
    bool ran = false;
    const auto checked = [&](settings how) {
        how.port = bank.port();
        how.executor = execution::threads;
        service other{how};
        other.procedures().at_end([&] { ran = true; });
        other.check();
    };
    EXPECT_NO_THROW(checked({}));
    EXPECT_THROW(checked({.tls = {.certificate = "/dev/null", .key = "/dev/null"}}), std::runtime_error);
    EXPECT_FALSE(ran);
}

// Each read is progress, so the end needs a bound on the total time.
TEST(drain, slow_readers_delay_the_end_only_for_a_limit) {
    bank_server bank{{.write_timeout = std::chrono::milliseconds{150}}};
    constexpr std::size_t bytes = 50'000'000;
    bare_socket slow{bank.port(), 65'536};
    slow.send(wire({"CALL", "large", std::to_string(bytes)}));
    std::size_t taken = slow.receive(10).size();
    std::atomic<bool> over{false};
    std::thread ending{[&] {
        bank->drain();
        over = true;
    }};
    while (!over) {
        const std::size_t more = slow.receive(20'000).size();
        if (more == 0) break;
        taken += more;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    ending.join();
    EXPECT_LT(taken, bytes);
}

}  // namespace
}  // namespace tutti::server
