// The HTTP view of a server. Catches a server that reports alive while an I/O thread or all workers hang. Catches a
// server that reports dead because of one hanging call, and one that reports ready while it would refuse calls.
#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "server/bank.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;
using testing::Test;

constexpr const char* alive = "/healthz";
constexpr const char* ready = "/readyz";

bool says(const std::string& answer, int status, const std::string& what) {
    return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ") && answer.find(what) != std::string::npos;
}

settings with_pages(settings how = {}) {
    how.metrics_port = 0;
    return how;
}

/// Waits until the page has this status; the test's own time limit ends the wait.
void await(bank_server& bank, const char* page, int status, const std::string& what) {
    while (!says(http_get(bank->metrics_port(), page), status, what)) std::this_thread::sleep_for(1ms);
}

TEST(health, a_serving_server_is_ready_and_alive) {
    bank_server bank{with_pages()};
    await(bank, alive, 200, "\r\n\r\nalive\n");
    EXPECT_TRUE(says(http_get(bank->metrics_port(), ready), 200, "\r\n\r\nready\n"));
    EXPECT_TRUE(says(http_get(bank->metrics_port(), "/metrics"), 200, "Content-Type: text/plain; version=0.0.4"));
}

TEST(health, pages_accept_only_get_and_head) {
    bank_server bank{with_pages()};
    EXPECT_TRUE(says(http_get(bank->metrics_port(), "/health"), 404, "/healthz /metrics /readyz"));
    EXPECT_TRUE(says(http_get(bank->metrics_port(), ready, "POST"), 405, "Allow: GET, HEAD\r\n"));
    const std::string head = http_get(bank->metrics_port(), ready, "HEAD");
    EXPECT_TRUE(says(head, 200, "Content-Length: 6\r\n"));
    EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

// Clients of the metrics and health pages are no more trusted than others.
TEST(health, silent_clients_do_not_delay_pages) {
    bank_server bank{with_pages()};
    await(bank, ready, 200, "ready");
    std::deque<bare_socket> silent;
    for (int i = 0; i < 100; ++i) {
        silent.emplace_back(bank->metrics_port());
        if (i % 2 == 0) silent.back().send("GET /metrics HTTP/1.1\r\nHost: ");
    }
    for (const char* const page : {alive, ready, "/metrics"})
        EXPECT_TRUE(http_get(bank->metrics_port(), page).starts_with("HTTP/1.1 200 ")) << page;
}

TEST(health, an_occupied_port_ends_the_start) {
    bank_server bank{with_pages()};
    service second{{.metrics_port = bank->metrics_port()}};
    try {
        second.start();
        FAIL() << "two have one port";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string{e.what()}.find("cannot listen on 127.0.0.1:"), std::string::npos) << e.what();
    }
}

TEST(health, names_stuck_calls_and_fails_if_all_are_stuck) {
    bank_server bank{with_pages({.stuck_after = 30ms, .workers = 2})};
    client one{bank.port()};
    one.send({"CALL", "gate"});
    await(bank, alive, 200, "a worker of 2 has been blocked for");
    EXPECT_TRUE(says(http_get(bank->metrics_port(), alive), 200, "by procedure 'gate', priority 31\n"));
    bank->call_raw("gate", {}, {}, [](std::string_view) {});  // called by the program, so another thread watches it
    await(bank, alive, 503, "\r\n\r\nstuck\n");
    bank.held.open();
    EXPECT_EQ(one.receive(), "OK");
    await(bank, alive, 200, "\r\n\r\nalive\n");
}

TEST(health, not_ready_while_a_call_would_be_refused) {
    bank_server bank{with_pages({.workers = 1, .max_queued_calls = 1})};
    client running{bank.port()}, waiting{bank.port()};
    running.send({"CALL", "gate"});
    bank.held.await(1);
    EXPECT_TRUE(says(http_get(bank->metrics_port(), ready), 200, "ready"));
    waiting.send({"CALL", "noop"});
    await(bank, ready, 503, "busy: queued calls have reached --max-queued-calls");
    EXPECT_EQ(client{bank.port()}({"CALL", "noop"}).find("-BUSY"), 0U) << "or it is not what it says";
    bank.held.open();
    EXPECT_EQ(waiting.receive(), "OK");
    await(bank, ready, 200, "ready");
}

TEST(health, not_ready_while_a_client_would_be_refused) {
    bank_server bank{with_pages({.max_clients = 1})};
    {
        client only{bank.port()};
        EXPECT_EQ(only({"PING"}), "PONG");
        EXPECT_TRUE(says(http_get(bank->metrics_port(), ready), 503, "max number of clients reached"));
    }
    await(bank, ready, 200, "ready");
}

TEST(health, not_ready_while_memory_is_full) {
    bank_server bank{
        with_pages({.workers = 1, .max_request = 4096, .max_buffered_bytes = 4096, .max_buffered_bytes_clients = 0})};
    constexpr std::size_t bytes = 20'000'000;
    bare_socket greedy{bank.port(), 4096};
    greedy.send(wire({"CALL", "large", std::to_string(bytes)}));
    await(bank, ready, 503, "busy: requests and answers have reached");
    greedy.receive(bytes);
    await(bank, ready, 200, "ready");
}

TEST(health, not_ready_but_alive_at_shutdown) {
    bank_server bank{with_pages({.workers = 1})};
    client running{bank.port()};
    running.send({"CALL", "gate"});
    bank.held.await(1);
    const std::uint16_t port = bank->metrics_port();
    std::thread ends{[&] { bank->drain(); }};
    await(bank, ready, 503, "ending: the server is shutting down");
    await(bank, alive, 200, "alive, ending");
    EXPECT_TRUE(says(http_get(port, "/metrics"), 200, "tutti_clients 1")) << "its figures are there to its end";
    bank.held.open();
    ends.join();
    EXPECT_THROW(static_cast<void>(http_get(port, ready)), std::exception) << "nobody is left to answer";
}

/// Stops one thread of this process, as a debugger does. Only another process can stop the thread in this way.
class stopped_thread {
public:
    explicit stopped_thread(pid_t which) {
        int told[2] = {-1, -1}, held[2] = {-1, -1};
        if (::pipe(told) != 0 || ::pipe(held) != 0) throw std::runtime_error{"no pipes"};
        tracer_ = ::fork();
        if (tracer_ == 0) {
            ::close(held[1]);
            char byte = '-';
            static_cast<void>(!::read(held[0], &byte, 1));  // waits until the parent allows it
            if (::ptrace(PTRACE_SEIZE, which, nullptr, nullptr) == 0 &&
                ::ptrace(PTRACE_INTERRUPT, which, nullptr, nullptr) == 0 && ::waitpid(which, nullptr, __WALL) == which)
                byte = '+';
            static_cast<void>(!::write(told[1], &byte, 1));
            static_cast<void>(!::read(held[0], &byte, 1));  // waits for the parent's end of the pipe
            ::_exit(0);                                     // lets the thread continue
        }
        ::prctl(PR_SET_PTRACER, tracer_, 0, 0, 0);
        ::close(told[1]);
        ::close(held[0]);
        char byte = '-';
        static_cast<void>(!::write(held[1], "?", 1));
        static_cast<void>(!::read(told[0], &byte, 1));
        ::close(told[0]);
        stopped = byte == '+';
        held_ = held[1];
    }
    ~stopped_thread() {
        ::close(held_);
        ::waitpid(tracer_, nullptr, 0);
    }
    stopped_thread(const stopped_thread&) = delete;
    stopped_thread& operator=(const stopped_thread&) = delete;

    bool stopped = false;

private:
    pid_t tracer_ = 0;
    int held_ = -1;
};

std::vector<pid_t> threads_called(const std::string& name) {
    std::vector<pid_t> all;
    for (const auto& t : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string its;
        std::getline(std::ifstream{t.path() / "comm"}, its);
        if (its == name) all.push_back(std::stoi(t.path().filename().string()));
    }
    return all;
}

TEST(health, an_unresponsive_io_thread_is_named) {
    bank_server bank{with_pages({.io_threads = 2})};
    await(bank, alive, 200, "alive");  // each thread has its name by now
    const std::vector<pid_t> threads = threads_called("tutti-io_thread");
    ASSERT_EQ(threads.size(), 2U);
    {
        const stopped_thread one{threads[1]};
        if (!one.stopped) GTEST_SKIP() << "this system lets no process stop a thread of another";
        await(bank, alive, 503, " of 2 does not answer\n");
    }
    await(bank, alive, 200, "\r\n\r\nalive\n");
}

}  // namespace
}  // namespace tutti::server
