// Workers that own the I/O thread's connections while calls are short. Catches a call that blocks other clients because
// it was expected to be short. Catches losses when a client leaves or the server ends while a worker owns the I/O.
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "server/bank.hpp"
#include "support/realtime_threads.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

/// Longer than any step here takes, even on a busy machine, so that a hanging server fails the test.
constexpr auto timeout = 20s;

/// A server with a procedure that is short or lasts until the test releases it, depending on its argument.
class worker_io_server {
public:
    explicit worker_io_server(settings how = {}, std::chrono::milliseconds time_limit = {}) : service_{prepared(how)} {
        service_.procedures().add("act", {.priority = 3, .time_limit = time_limit}, [this](int lasts) {
            if (lasts == 0) return;
            ++acting;
            // Runs in small steps, so that the call can be interrupted and preempted.
            tutti::atomically([&](tutti::tx& t) {
                while (!let_go_.load(std::memory_order_acquire)) static_cast<void>(read_.get(t));
            });
        });
        service_.procedures().add("let_go", {.priority = 5}, [this] { let_go_.store(true); });
        service_.start();
    }
    ~worker_io_server() {
        let_go_.store(true);
        service_.drain();
    }

    service* operator->() noexcept { return &service_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return service_.port(); }
    void release() { let_go_.store(true); }

    /// Makes short calls in a closed loop until a worker owns the I/O.
    void await_worker_io(client& by) {
        const std::size_t before = number_of(by({"INFO"}), "io_handoffs");
        const auto until = std::chrono::steady_clock::now() + timeout;
        do {
            for (int i = 0; i < 100; ++i) EXPECT_EQ(by({"CALL", "act", "0"}), "OK");
            // An exception ends the test instead of a hang.
            if (std::chrono::steady_clock::now() > until)
                throw std::runtime_error{"no worker takes the I/O thread's place"};
        } while (number_of(by({"INFO"}), "io_handoffs") < before + 50);
    }

    std::atomic<int> acting{0};

private:
    static settings prepared(settings how) {
        how.port = 0;
        // With this limit, a call also counts as short on a busy machine or in a sanitizer build.
        if (how.short_call_limit.count() != 0) how.short_call_limit = 5ms;
        if (std::getenv("TUTTI_TEST_THREADS") != nullptr) how.executor = execution::threads;
        return how;
    }
    std::atomic<bool> let_go_{false};
    tutti::var<long> read_{0};
    service service_;
};

/// Returns true if the answer arrives in time.
[[nodiscard]] bool answers(client& who, const std::vector<std::string>& words) {
    who.send(words);
    auto answered = std::async(std::launch::async, [&] { return who.receive(); });
    return answered.wait_for(timeout) == std::future_status::ready;
}

TEST(worker_io_test, answers_calls_and_is_counted) {
    worker_io_server server{{.workers = 1}};
    client one{server.port()}, other{server.port()};
    server.await_worker_io(one);
    EXPECT_EQ(other({"PING"}), "PONG");
    EXPECT_EQ(other({"CALL", "act", "0"}), "OK");
    EXPECT_EQ(other({"CALL", "act"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(number_of(one({"INFO"}), "io_handoffs_reclaimed"), number_of(other({"INFO"}), "io_handoffs_reclaimed"));
}

TEST(worker_io_test, is_off_without_short_calls) {
    worker_io_server server{{.workers = 1, .short_call_limit = 0us}};
    client one{server.port()};
    for (int i = 0; i < 500; ++i) ASSERT_EQ(one({"CALL", "act", "0"}), "OK");
    EXPECT_EQ(number_of(one({"INFO"}), "io_handoffs"), 0U);
}

// A worker that reads for the I/O thread has no real-time priority, so urgent calls would wait for other programs.
TEST(worker_io_test, is_off_with_real_time_priorities) {
    if (!support::may_have_realtime_threads()) GTEST_SKIP() << support::no_realtime_rights;
    worker_io_server server{{.io_realtime = 2, .workers = 1, .preemption = {.realtime_min_priority = 4}}};
    client one{server.port()};
    for (int i = 0; i < 500; ++i) ASSERT_EQ(one({"CALL", "act", "0"}), "OK");
    EXPECT_EQ(number_of(one({"INFO"}), "io_handoffs"), 0U);
}

// The call was expected to be short, but blocks the only worker, which has read it in place of the I/O thread.
TEST(worker_io_test, returns_to_the_thread_during_a_long_call) {
    worker_io_server server{{.workers = 1}};
    client one{server.port()}, other{server.port()};
    server.await_worker_io(one);
    const std::size_t before = number_of(one({"INFO"}), "io_handoffs_reclaimed");
    one.send({"CALL", "act", "1"});
    const bool answered = answers(other, {"PING"});
    EXPECT_TRUE(answered) << "nobody reads while the worker is at it";
    if (answered) {
        while (server.acting.load() == 0) std::this_thread::sleep_for(1ms);
        std::string info = other({"INFO"});
        EXPECT_EQ(number_of(info, "running"), 1U);
        while (number_of(info, "io_handoffs_reclaimed") <= before) info = other({"INFO"});
    }
    server.release();
    EXPECT_EQ(one.receive(), "OK");
}

// A more urgent call gets through, and so does a preemptive worker.
TEST(worker_io_test, does_not_delay_urgent_calls) {
    const bool preempts = std::getenv("TUTTI_TEST_THREADS") == nullptr;
    worker_io_server server{{.workers = preempts ? 1U : 2U}};
    client one{server.port()}, other{server.port()};
    server.await_worker_io(one);
    if (preempts && server->info().find("executor:preemptive") == std::string::npos)
        GTEST_SKIP() << "not in this build";
    one.send({"CALL", "act", "1"});
    while (server.acting.load() == 0) std::this_thread::sleep_for(1ms);
    const bool answered = answers(other, {"CALL", "let_go"});
    EXPECT_TRUE(answered);
    server.release();
    EXPECT_EQ(one.receive(), "OK");
}

TEST(worker_io_test, enforces_time_limits) {
    worker_io_server server{{.workers = 1}, 50ms};
    client one{server.port()};
    server.await_worker_io(one);
    EXPECT_EQ(one({"CALL", "act", "1"}).substr(0, 8), "-TIMEOUT");
    EXPECT_EQ(one({"CALL", "act", "0"}), "OK");
}

// The client resets its connection while its call runs on the worker that read it.
TEST(worker_io_test, lets_a_client_leave_during_a_long_call) {
    worker_io_server server{{.workers = 1}};
    client stays{server.port()};
    server.await_worker_io(stays);
    {
        bare_socket goes{server.port()};
        goes.send(wire({"CALL", "act", "1"}));
        while (server.acting.load() == 0) std::this_thread::sleep_for(1ms);
        goes.reset();
    }
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (number_of(stays({"INFO"}), "connected_clients") != 1 && std::chrono::steady_clock::now() < until) {}
    EXPECT_EQ(number_of(stays({"INFO"}), "connected_clients"), 1U);
    server.release();
    while (number_of(stays({"INFO"}), "running") != 0) {}
    server.await_worker_io(stays);
}

TEST(worker_io_test, closes_killed_clients) {
    worker_io_server server{{.workers = 1}};
    client one{server.port()}, other{server.port()};
    const std::string id = other({"CLIENT", "ID"});
    server.await_worker_io(one);
    EXPECT_EQ(one({"CLIENT", "KILL", "ID", id}), "1");
    EXPECT_EQ(other.receive(), "closed");
    server.await_worker_io(one);
}

// The server ends while a worker waits for clients, and while a worker runs a call that it has read.
TEST(worker_io_test, ends_with_the_server) {
    for (const bool at_work : {false, true}) {
        worker_io_server server{{.workers = 1}};
        client one{server.port()};
        server.await_worker_io(one);
        if (at_work) {
            one.send({"CALL", "act", "1"});
            while (server.acting.load() == 0) std::this_thread::sleep_for(1ms);
        }
        auto drained = std::async(std::launch::async, [&] { server->drain(); });
        if (at_work) {
            EXPECT_EQ(drained.wait_for(50ms), std::future_status::timeout) << "what was accepted is answered";
            server.release();
            EXPECT_EQ(one.receive(), "OK");
        }
        EXPECT_EQ(drained.wait_for(timeout), std::future_status::ready);
        EXPECT_EQ(one.receive(), "closed");
    }
}

// Calls of the program reach a worker that waits for clients in place of the I/O thread.
TEST(worker_io_test, serves_after_calls_of_the_program) {
    worker_io_server server{{.workers = 1}};
    client one{server.port()};
    server.await_worker_io(one);
    // A lost wake-up would delay the worker by ten milliseconds or more, until it checks its clients.
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (int i = 0; i < 4000; ++i) {
        auto answered = server->call<void>("act", {}, 0);
        ASSERT_EQ(answered.wait_until(until), std::future_status::ready) << "after " << i << " calls";
        answered.get();
    }
}

// Runs with one I/O thread and with two. Some clients send many calls before they read an answer, and the others send
// one.
TEST(worker_io_test, loses_nothing_under_load) {
    for (const unsigned threads : {1U, 2U}) {
        worker_io_server server{{.io_threads = threads, .workers = 2}};
        std::vector<std::thread> clients;
        for (std::size_t c = 0; c < 4; ++c) {
            clients.emplace_back([&, ahead = c % 2 == 0 ? 1 : 40] {
                client ask{server.port()};
                for (int i = 0; i < 400; ++i) {
                    for (int n = 0; n < ahead; ++n) ask.send({"CALL", "act", "0"});
                    for (int n = 0; n < ahead; ++n) ASSERT_EQ(ask.receive(), "OK");
                }
            });
        }
        for (auto& c : clients) c.join();
        client ask{server.port()};
        const std::string info = ask({"INFO"});
        const std::string line = "procedure_act:OK=";
        EXPECT_EQ(std::stoul(info.substr(info.find(line) + line.size())), 2U * 400 * 41);
        EXPECT_EQ(number_of(info, "buffered_bytes"), 0U) << "but for what this client makes it hold";
    }
}

}  // namespace
}  // namespace tutti::server
