// No accepted request is lost, and none answered or run twice: while clients die at random, and when the server ends.

#include <gtest/gtest.h>

#include <random>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

/// Sums up what one client was answered.
struct answers {
    std::size_t ok = 0;
    std::size_t refused = 0;
};

/// Counts complete lines of answers to `count`. What is cut off at the end is no answer.
answers tally(const std::string& text) {
    answers a;
    for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; at += 2) {
        const std::size_t begin = text.rfind('\n', at);
        (text[begin == std::string::npos ? 0 : begin + 1] == ':' ? a.ok : a.refused)++;
    }
    return a;
}

TEST(drain, what_was_accepted_is_answered_and_nothing_else_is_run) {
    for (int round = 0; round < 5; ++round) {
        bank_server bank{{.receivers = 2, .workers = 2}};
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
    bank_server bank{{.receivers = 1, .workers = 2}};
    std::mt19937 random{7};
    std::size_t sent = 0;
    const std::size_t rounds = support::rounds(200);
    for (std::size_t i = 0; i < rounds; ++i) {
        bare_socket victim{bank.port()};
        const std::size_t calls = 1 + random() % 40;
        std::string all;
        for (std::size_t n = 0; n < calls; ++n) all += wire({"CALL", "count"});
        victim.send(all + "*2\r\n$4\r\nCA");
        // At least one answer: by then the piece that it was in has been taken, and the pieces are whole.
        const std::string got = victim.receive(1 + random() % 3);
        EXPECT_EQ(got.front(), ':');
        if (random() % 2 == 0) victim.reset();
        sent += calls;
    }
    client ask{bank.port()};
    bank->drain();
    const std::string info = bank->info();
    EXPECT_NE(info.find("procedure_count:OK=" + std::to_string(sent) + ",BUSY=0"), std::string::npos) << sent << info;
    EXPECT_NE(info.find("connected_clients:0"), std::string::npos);
}

// A hundred thousand calls over several connections: each is answered once, by a number of its own.
TEST(drain, every_call_is_run_once_and_answered_once) {
    bank_server bank{{.receivers = 2, .workers = 2}};
    constexpr std::size_t connections = 4;
    const std::size_t calls = support::rounds(25'000);
    std::vector<std::vector<long>> numbers(connections);
    std::vector<std::thread> clients;
    for (std::size_t c = 0; c < connections; ++c) {
        clients.emplace_back([&, c] {
            client ask{bank.port()};
            std::size_t sent = 0;
            while (numbers[c].size() < calls) {
                for (; sent < calls && sent < numbers[c].size() + 100; ++sent) ask.send({"CALL", "count"});
                numbers[c].push_back(std::stol(ask.receive()));
            }
        });
    }
    for (auto& c : clients) c.join();
    std::vector<bool> seen(connections * calls + 1);
    for (const auto& mine : numbers) {
        for (const long n : mine) {
            ASSERT_GT(n, 0);
            ASSERT_LT(static_cast<std::size_t>(n), seen.size());
            ASSERT_FALSE(seen[static_cast<std::size_t>(n)]) << n << " was answered twice";
            seen[static_cast<std::size_t>(n)] = true;
        }
    }
}

// A client's call holds the end up; meanwhile a new call of the program would make it wait for more and more.
TEST(drain, the_program_too_is_refused_while_the_server_ends) {
    bank_server bank{{.workers = 2}};
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

}  // namespace
}  // namespace tutti::server
