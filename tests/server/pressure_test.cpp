// A client cannot harm other clients, whatever it does or omits. Catches unbounded queues and buffers, and I/O threads
// that wait for a client.

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

/// Polls until `done` holds; the test's time limit ends a wait that never succeeds.
template <class F>
void until(F&& done) {
    while (!done()) std::this_thread::sleep_for(1ms);
}

TEST(pressure, a_full_queue_answers_busy) {
    bank_server bank{{.workers = 1, .max_queued_calls = 4}};
    client ask{bank.port()};
    ask.send({"CALL", "gate"});
    EXPECT_EQ(client{bank.port()}({"PING"}), "PONG");
    std::thread first{[&] { EXPECT_EQ(ask.receive(), "OK"); }};
    bank.held.await(1);
    client other{bank.port()};
    for (int i = 0; i < 10; ++i) other.send({"CALL", "count"});
    other.send({"PING"});
    // The answers of the waiting calls come first, so the gate must open before the refusals can be read.
    client watcher{bank.port()};
    until([&] { return watcher({"INFO"}).find("procedure_count:OK=0,BUSY=6") != std::string::npos; });
    bank.held.open();
    first.join();
    for (int i = 1; i <= 4; ++i) EXPECT_EQ(other.receive(), std::to_string(i));
    for (int i = 5; i <= 10; ++i) EXPECT_EQ(other.receive().substr(0, 5), "-BUSY");
    EXPECT_EQ(other.receive(), "PONG");
    EXPECT_EQ(other({"CALL", "count"}), "5") << "there is room again";
}

/// One worker, which is busy until `release`, and room for four calls.
class crowded {
public:
    explicit crowded(settings how = {}) : bank{with_room_for_four(std::move(how))}, holds_{bank.port()} {
        holds_.send({"CALL", "gate"});
        bank.held.await(1);
    }
    /// Returns when `calls` calls of this priority wait.
    void await(int priority, std::size_t calls) {
        until([&] { return number_of(watcher({"INFO"}), "queued_" + std::to_string(priority)) == calls; });
    }
    void release() {
        bank.held.open();
        EXPECT_EQ(holds_.receive(), "OK");
    }

    bank_server bank;
    client watcher{bank.port()};

private:
    static settings with_room_for_four(settings how) {
        how.workers = 1;
        how.max_queued_calls = 4;
        return how;
    }
    client holds_;
};

// Catches a queue that is full for every call, a queue that drops the call next in turn, and answers out of order.
TEST(pressure, a_full_queue_sheds_the_least_urgent_call) {
    crowded c;
    client low{c.bank.port()}, high{c.bank.port()};
    for (int i = 0; i < 4; ++i) low.send({"CALL", "PRIORITY", "2", "count"});
    low.send({"PING"});
    c.await(2, 4);
    for (const char* priority : {"1", "2", "3", "3", "31"}) high.send({"CALL", "PRIORITY", priority, "count"});
    c.await(31, 1);
    const std::string info = c.watcher({"INFO"});
    EXPECT_EQ(number_of(info, "shed_2"), 3U);
    EXPECT_NE(info.find("procedure_count:OK=0,BUSY=5"), std::string::npos) << info;
    c.release();
    EXPECT_EQ(low.receive(), "4") << "what came first was nearest to its turn";
    for (int i = 0; i < 3; ++i) EXPECT_EQ(low.receive().substr(0, 5), "-BUSY");
    EXPECT_EQ(low.receive(), "PONG");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(high.receive().substr(0, 5), "-BUSY") << "no less urgent one waits";
    for (const char* number : {"2", "3", "1"}) EXPECT_EQ(high.receive(), number);
}

// Neither an I/O thread nor a worker in the middle of another call may answer the dropped call.
TEST(pressure, calls_of_the_program_are_shed) {
    crowded c;
    std::promise<std::string> answered;
    c.bank->call_raw("count", {}, {.priority = 1}, [&](std::string_view answer) {
        client other{c.bank.port()};
        answered.set_value(std::string{answer} + other({"PING"}));
    });
    c.await(1, 1);
    client high{c.bank.port()};
    for (int i = 0; i < 4; ++i) high.send({"CALL", "PRIORITY", "2", "count"});
    EXPECT_EQ(answered.get_future().get().substr(0, 5), "-BUSY");
    EXPECT_EQ(number_of(c.watcher({"INFO"}), "shed_1"), 1U);
    c.release();
    for (int i = 1; i <= 4; ++i) EXPECT_EQ(high.receive(), std::to_string(i));
}

TEST(pressure, shed_calls_have_no_effect_and_may_be_repeated) {
    crowded c;
    client several{c.bank.port()}, named{c.bank.port()}, high{c.bank.port()};
    for (const std::string word : {"MULTI", "CALL", "CALL", "EXEC"})
        several.send(word == "CALL" ? std::vector<std::string>{word, "PRIORITY", "2", "count"} : std::vector{word});
    c.await(2, 1);
    const std::vector<std::string> once{"CALL", "PRIORITY", "2", "ID", "k", "count"};
    named.send(once);
    c.await(2, 2);
    for (int i = 0; i < 4; ++i) high.send({"CALL", "PRIORITY", "3", "noop"});
    EXPECT_EQ(named.receive().substr(0, 5), "-BUSY");
    for (const char* answer : {"OK", "QUEUED", "QUEUED"}) EXPECT_EQ(several.receive(), answer);
    EXPECT_EQ(several.receive().substr(0, 5), "-BUSY");
    c.release();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(high.receive(), "OK");
    EXPECT_EQ(named(once), "1") << "neither it nor MULTI has counted";
    EXPECT_EQ(named(once), "1");
}

// Calls of one I/O thread are dropped for calls of another, and all of these for calls of the program.
TEST(pressure, every_call_is_run_once_or_refused_once) {
    bank_server bank{{.io_threads = 2, .workers = 1, .max_queued_calls = 8}};
    const std::size_t calls = support::rounds(5000);
    std::atomic<std::size_t> ran{0}, refused{0};
    const auto count = [&](const std::string& answer) { ++(answer.find("BUSY") == 1 ? refused : ran); };
    std::vector<std::thread> clients;
    for (unsigned c = 0; c < 4; ++c) {
        clients.emplace_back([&, c] {
            std::mt19937 random{c};
            client ask{bank.port()};
            for (std::size_t sent = 0, got = 0; got < calls; ++got) {
                for (; sent < calls && sent < got + 50; ++sent)
                    ask.send({"CALL", "PRIORITY", std::to_string(random() % 32), "count"});
                count(ask.receive());
            }
        });
    }
    std::mt19937 random{9};
    std::atomic<std::size_t> answered{0};
    for (std::size_t i = 0; i < calls; ++i) {
        bank->call_raw("count", {}, {.priority = static_cast<int>(random() % 32)}, [&](std::string_view answer) {
            count(std::string{answer});
            ++answered;
        });
    }
    for (auto& c : clients) c.join();
    until([&] { return answered == calls; });
    EXPECT_EQ(ran + refused, 5 * calls);
    EXPECT_EQ(client{bank.port()}({"CALL", "counted"}), std::to_string(ran.load()));
}

// A few small requests ask for large answers, which their client does not read.
TEST(pressure, buffered_bytes_of_all_clients_are_bounded) {
    bank_server bank{{.workers = 1, .max_buffered_bytes = 2'000'000, .max_buffered_bytes_clients = 0}};
    bare_socket greedy{bank.port(), 4096};
    constexpr std::size_t many = 50, bytes = 20'000'000;
    std::string all;
    for (std::size_t i = 0; i < many; ++i) all += wire({"CALL", "large", std::to_string(bytes)});
    greedy.send(all);
    client watcher{bank.port()};
    std::size_t answered = 0, refused = 0;
    until([&] {
        const std::string info = watcher({"INFO"});
        const std::size_t line = info.find("procedure_large:OK=");
        answered = std::stoul(info.substr(line + 19));
        refused = std::stoul(info.substr(info.find("BUSY=", line) + 5));
        return answered + refused == many;
    });
    EXPECT_GE(answered, 1U);
    EXPECT_LE(answered, 3U);
    EXPECT_LT(number_of(watcher({"INFO"}), "buffered_bytes"), 3 * bytes);
    EXPECT_EQ(watcher({"CALL", "noop"}).substr(0, 5), "-BUSY");
    bare_socket long_winded{bank.port()};
    long_winded.send("*2\r\n$4\r\nECHO\r\n$900000\r\n" + std::string(30'000, 'x'));
    EXPECT_EQ(long_winded.receive_all().substr(0, 5), "-BUSY");
    greedy.receive(answered * bytes);
    greedy.receive_lines(static_cast<std::ptrdiff_t>(refused));
    until([&] { return watcher({"CALL", "noop"}) == "OK"; });
}

TEST(pressure, clients_that_do_not_read_are_not_read) {
    bank_server bank{{.max_output_buffer = 100'000, .write_timeout = 0ms}};
    bare_socket greedy{bank.port(), 4096};
    const std::string call = wire({"CALL", "large", "50000"});
    // The server stops reading, so at some time the client's own socket accepts no more bytes.
    std::size_t sent = 0;
    for (int refused = 0; refused < 50;) {
        const std::size_t took = greedy.send_some(call);
        sent += took;
        if (took == 0) {
            ++refused;
            EXPECT_EQ(client{bank.port()}({"CALL", "balance", "1"}), "1000");
        }
        ASSERT_LT(sent, 50'000'000U);
    }
    // All answers arrive once the client reads.
    const std::string first = greedy.receive(50'010);
    EXPECT_EQ(first.substr(0, 8), "$50000\r\n");
}

TEST(pressure, clients_that_do_not_read_are_closed) {
    bank_server bank{{.max_output_buffer = 1000, .write_timeout = 50ms}};
    bare_socket greedy{bank.port(), 4096};
    greedy.send(wire({"CALL", "large", "50000000"}));
    client watcher{bank.port()};
    until([&] { return number_of(watcher({"INFO"}), "connected_clients") == 1; });
    EXPECT_EQ(watcher({"CALL", "total"}), "100000");
}

// The end of the server also waits for a client that never stops sending, until the write timeout ends the wait.
TEST(pressure, clients_that_never_stop_sending_are_closed) {
    bank_server bank{{.write_timeout = 100ms}};
    bare_socket dripping{bank.port()};
    dripping.send(wire({"QUIT"}));
    EXPECT_EQ(dripping.receive_all(), "+OK\r\n");
    until([&] { return !dripping.send("x"); });
    bare_socket other{bank.port()};
    other.send(wire({"PING"}));
    EXPECT_EQ(other.receive_lines(1), "+PONG\r\n");
    std::thread ending{[&] { bank->drain(); }};
    until([&] { return !other.send("x"); });
    ending.join();
}

TEST(pressure, half_closed_clients_get_all_answers) {
    bank_server bank{{.workers = 1}};
    bare_socket leaving{bank.port()};
    std::string all;
    for (int i = 0; i < 100; ++i) all += wire({"CALL", "count"});
    leaving.send(all + wire({"CALL", "gate"}) + "PING\r\n*2\r\n$4\r\nincom");
    leaving.half_close();
    bank.held.await(1);
    bank.held.open();
    const std::string answers = leaving.receive_all();
    EXPECT_TRUE(answers.ends_with(":100\r\n+OK\r\n+PONG\r\n")) << answers;
}

// A process that has inherited the socket keeps it open. Catches an I/O thread that gets events of a client after it
// has dropped that client.
TEST(pressure, a_client_may_leave_while_another_process_has_its_socket) {
    bank_server bank;
    bare_socket leaving{bank.port()};
    leaving.send(wire({"PING"}));
    EXPECT_EQ(leaving.receive_lines(1), "+PONG\r\n");
    const pid_t copy = ::fork();
    ASSERT_NE(copy, -1);  // a signal to process -1 would reach all processes
    if (copy == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
    }
    leaving.half_close();
    EXPECT_EQ(leaving.receive_all(), "");
    client other{bank.port()};
    for (int i = 0; i < 100; ++i) EXPECT_EQ(other({"PING"}), "PONG");
    EXPECT_EQ(number_of(other({"INFO"}), "connected_clients"), 1U);
    ::kill(copy, SIGKILL);
    ::waitpid(copy, nullptr, 0);
}

// A close with unread received data resets the connection, and the last answers are lost.
TEST(pressure, last_answers_arrive_despite_unread_input) {
    bank_server bank;
    bare_socket chatty{bank.port(), 4096};
    chatty.send(wire({"CALL", "large", "100000"}) + wire({"QUIT"}));
    std::thread sender{[&] {
        while (chatty.send(std::string(100'000, 'j'))) {}
    }};
    const std::string answers = chatty.receive_all();
    chatty.half_close();
    sender.join();
    EXPECT_EQ(answers.size(), 9 + 100'000 + 2 + 5U);
    EXPECT_TRUE(answers.ends_with("x\r\n+OK\r\n"));
}

TEST(pressure, a_malformed_request_ends_only_its_connection) {
    bank_server bank{{.max_request = 1000}};
    client bystander{bank.port()};
    for (const std::string bad : {"*1\r\n$x\r\n", "*100000\r\n", "*1\r\n$5000\r\n", "*1\r\n:1\r\n"}) {
        bare_socket sender{bank.port()};
        sender.send(wire({"CALL", "balance", "1"}) + bad + wire({"CALL", "count"}));
        const std::string answers = sender.receive_all();
        EXPECT_EQ(answers.substr(0, 28), ":1000\r\n-ERR Protocol error: ") << answers;
        EXPECT_EQ(answers.find("\r\n:"), std::string::npos) << "what follows is not understood any more";
        EXPECT_EQ(bystander({"PING"}), "PONG");
    }
    bare_socket long_line{bank.port()};
    long_line.send(std::string(5000, 'x'));
    EXPECT_EQ(long_line.receive_all().substr(0, 20), "-ERR Protocol error:");
    EXPECT_EQ(bystander({"CALL", "count"}), "1");
    EXPECT_EQ(number_of(bystander({"INFO"}), "malformed_requests"), 5U);
}

TEST(pressure, memory_for_clients_without_login_is_bounded) {
    bank_server bank{{.password = "p", .login_timeout = 0ms}};
    bare_socket stranger{bank.port()};
    stranger.send("*1\r\n$100000\r\n");
    EXPECT_EQ(stranger.receive_all().substr(0, 20), "-ERR Protocol error:");
}

TEST(pressure, clients_without_login_are_closed) {
    bank_server bank{{.password = "p", .login_timeout = 50ms}};
    bare_socket silent{bank.port()};
    EXPECT_EQ(silent.receive_all(), "") << "closed, without a word";
    client talkative{bank.port()};
    while (talkative({"PING"}) != "closed") {}
}

TEST(pressure, the_number_of_clients_is_bounded) {
    bank_server bank{{.max_clients = 2}};
    client one{bank.port()};
    EXPECT_EQ(one({"PING"}), "PONG");
    {
        client two{bank.port()};
        EXPECT_EQ(two({"PING"}), "PONG");
        bare_socket three{bank.port()};
        EXPECT_EQ(three.receive_all().substr(0, 11), "-MAXCLIENTS");
    }
    until([&] { return number_of(one({"INFO"}), "connected_clients") == 1; });
    EXPECT_EQ(client{bank.port()}({"PING"}), "PONG");
}

TEST(pressure, idle_clients_are_closed) {
    bank_server bank{{.idle_timeout = 50ms}};
    bare_socket idle{bank.port()};
    EXPECT_EQ(idle.receive_all(), "");
}

TEST(pressure, a_long_pipeline_is_read_in_portions) {
    bank_server bank{{.workers = 2, .max_queued_calls = 16, .max_pipeline = 8}};
    bare_socket talk{bank.port()};
    const std::size_t rounds = support::rounds(20'000);
    std::string all;
    for (std::size_t i = 0; i < rounds; ++i) all += wire({"CALL", "count"});
    std::thread sender{[&] {
        EXPECT_TRUE(talk.send(all));
        talk.half_close();
    }};
    const std::string answers = talk.receive_all();
    sender.join();
    EXPECT_EQ(std::ranges::count(answers, ':'), static_cast<std::ptrdiff_t>(rounds)) << "never more than fit the queue";
}

}  // namespace
}  // namespace tutti::server
