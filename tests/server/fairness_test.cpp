// How a server divides memory, attention, connections and logins among greedy clients. Catches silent clients that make
// the calls of other clients BUSY, commands that delay calls, and unknown clients that lock an admin out.

#include <crypt.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "bank.hpp"
#include "server/protocol/call_budget.hpp"
#include "server/protocol/client_directory.hpp"
#include "server/protocol/eviction.hpp"
#include "server/protocol/password_verifier.hpp"
#include "server/protocol/principal.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

/// Polls until `done` holds; the test's time limit ends a wait that never succeeds.
template <class F>
void wait_for(F&& done) {
    while (!done()) std::this_thread::sleep_for(1ms);
}

std::string hash_of(const char* password) {
    crypt_data memory{};
    return ::crypt_rn(password, "$y$j75$saltsalt", &memory, sizeof memory);
}

settings with_operator(settings how) {
    how.users = {{.name = "clerk", .password = hash_of("secret"), .allowed_procedures = {}, .max_priority = 0},
                 {.name = "chief", .password = hash_of("more"), .is_admin = true}};
    return how;
}

/// Adds the users clerk and teller, who may call everything at the lowest priority.
settings with_callers(settings how) {
    how = with_operator(std::move(how));
    how.users.front().allowed_procedures = {"*"};
    how.users.push_back(
        {.name = "teller", .password = hash_of("third"), .allowed_procedures = {"*"}, .max_priority = 0});
    return how;
}

/// Returns a request of which `bytes` bytes have arrived, but not all.
std::string unfinished_request(std::size_t bytes) {
    return "*3\r\n$4\r\nCALL\r\n$5\r\nlarge\r\n$" + std::to_string(bytes + 1000) + "\r\n" + std::string(bytes, 'x');
}

// ---- memory

TEST(eviction, evicts_the_largest_client_of_the_largest_principal) {
    const principal a{"a", 1, false}, b{"b", 1, false};
    const std::vector<client_memory> all{{30, &a}, {50, &a}, {60, &b}, {0, &b}, {10, &b}};
    EXPECT_EQ(choose_evicted(all, 150), std::vector<std::size_t>{});
    EXPECT_EQ(choose_evicted(all, 149), std::vector<std::size_t>{1}) << "a holds 80, b 70";
    EXPECT_EQ(choose_evicted(all, 60), (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(choose_evicted(all, 0), (std::vector<std::size_t>{1, 2, 0, 4}));
}

TEST(eviction, spares_principals_within_their_share) {
    const principal crowd{"crowd", 1, false}, one{"one", 1, false};
    std::vector<client_memory> all(1000, {10, &crowd});
    all.push_back({4000, &one});
    const auto chosen = choose_evicted(all, 8000);
    EXPECT_EQ(chosen.size(), 600U);
    EXPECT_EQ(std::ranges::count(chosen, 1000U), 0) << "though its connection is the largest of all";
}

TEST(eviction, evicts_by_priority_and_spares_admins) {
    const principal low{"low", 1, false}, high{"high", 32, false}, chief{"chief", 1, true};
    const std::vector<client_memory> all{{100, &high}, {10, &low}, {1000, &chief}};
    EXPECT_EQ(choose_evicted(all, 1100), std::vector<std::size_t>{1});
    EXPECT_EQ(choose_evicted(all, 1000), (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(choose_evicted(all, 999), (std::vector<std::size_t>{1, 0, 2}));
}

TEST(fairness, silent_clients_do_not_make_other_calls_busy) {
    bank_server bank{{.workers = 1, .max_buffered_bytes = 4'000'000}};
    client other{bank.port()};
    std::deque<bare_socket> silent;
    constexpr std::size_t many = 12;
    for (std::size_t i = 0; i < many; ++i) {
        silent.emplace_back(bank.port())
            .send(unfinished_request(900'000));  // false: the server has closed the connection meanwhile
        EXPECT_EQ(other({"CALL", "noop"}), "OK");
    }
    // Three of these requests fit into the bound of 3,000,000 bytes.
    wait_for([&] { return number_of(other({"INFO"}), "clients_evicted") >= many - 3; });
    EXPECT_EQ(other({"CALL", "noop"}), "OK");
    const std::string info = other({"INFO"});
    EXPECT_LE(number_of(info, "buffered_bytes_of_clients"), 3'000'000U);
    EXPECT_NE(info.find("latest_eviction:a client at 127.0.0.1:"), std::string::npos) << info;
    EXPECT_NE(info.find("(address 127.0.0.1) was closed: it held "), std::string::npos);
}

// Calls queued between MULTI and EXEC, and answers that a client does not read, count as well.
TEST(fairness, all_bytes_of_a_client_count) {
    bank_server bank{{.workers = 1, .max_buffered_bytes = 4'000'000}};
    client watcher{bank.port()};
    bare_socket queues{bank.port()};
    std::string calls = wire({"MULTI"});
    for (int i = 0; i < 20; ++i) calls += wire({"CALL", "balance", std::string(40'000, '1')});
    queues.send(calls);
    wait_for([&] { return number_of(watcher({"INFO"}), "buffered_bytes_of_clients") >= 700'000; });
    bare_socket unread{bank.port(), 4096};
    unread.send(wire({"CALL", "large", "20000000"}));
    wait_for([&] { return number_of(watcher({"INFO"}), "clients_evicted") == 1; });
    EXPECT_EQ(watcher({"CALL", "noop"}), "OK");
    EXPECT_GE(number_of(watcher({"INFO"}), "buffered_bytes_of_clients"), 700'000U) << "the smaller one is still there";
}

// ---- memory of accepted calls

/// Returns true if the budget accepts the call.
bool acquires(call_budget& all, principal& whose, std::size_t bytes, int priority = 0) {
    return all.try_acquire(whose, bytes, priority) != call_budget::share_kind::none;
}

TEST(call_budget, bounds_a_principal_by_its_share_of_free_bytes) {
    call_budget all{1200};
    principal a{"a", 1, false}, b{"b", 1, false}, c{"c", 1, false};
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(acquires(all, a, 100));
    EXPECT_FALSE(acquires(all, a, 1));
    EXPECT_EQ(all.held(), 600U) << "what was refused does not count";
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(acquires(all, b, 50));
    EXPECT_FALSE(acquires(all, b, 1)) << "400 are free, for two";
    EXPECT_TRUE(acquires(all, c, 100));
    EXPECT_FALSE(acquires(all, c, 1)) << "300 are free, for three";
    EXPECT_FALSE(acquires(all, a, 1));
    for (int i = 0; i < 6; ++i) all.release(a, 100, call_budget::share_kind::regular);
    EXPECT_TRUE(acquires(all, b, 50)) << "850 are free, for two";
    EXPECT_EQ(all.held(), 350U);
}

TEST(call_budget, has_room_for_one_more_principal) {
    for (const int priority : {0, highest_priority}) {
        call_budget all{1'000'000};
        std::deque<principal> crowd;
        for (std::size_t n = 1; n <= 15; ++n) {
            principal& one = crowd.emplace_back("one", 1, false);
            EXPECT_TRUE(acquires(all, one, 100, priority)) << n;
            while (acquires(all, one, 10, priority)) {}
            const std::size_t left = 1'000'000 / (n + 1);
            EXPECT_LE(all.held(), 1'000'000 - (priority == 0 ? left : left / (n + 1)));
        }
    }
}

TEST(call_budget, accepts_a_lone_call_of_any_length) {
    call_budget all{1000};
    principal a{"a", 1, false}, b{"b", 1, false};
    EXPECT_TRUE(acquires(all, a, 5000));
    EXPECT_FALSE(acquires(all, a, 1));
    EXPECT_FALSE(acquires(all, b, 1));
    all.release(a, 5000, call_budget::share_kind::regular);
    EXPECT_TRUE(acquires(all, b, 1));
}

TEST(call_budget, refuses_calls_of_lower_priority_first) {
    call_budget all{12'000};
    principal a{"a", 1, false};
    // Each priority finds room that calls of all lower priorities together could not take.
    std::size_t before = 0;
    for (int p = 0; p <= highest_priority; ++p) {
        while (acquires(all, a, 1, p)) {}
        EXPECT_GT(all.held(), before) << p;
        before = all.held();
        for (int lower = 0; lower <= p; ++lower) EXPECT_FALSE(acquires(all, a, 1, lower)) << lower;
    }
    EXPECT_EQ(before, 9000U) << "half by the bound, and half of the rest by the urgent part";
}

// The first principal holds more than its bound, because the bound has become smaller with each further principal.
TEST(call_budget, leaves_room_for_more_urgent_calls) {
    call_budget all{1'000'000};
    std::deque<principal> crowd;
    for (std::size_t n = 1; n <= 10; ++n) {
        principal& one = crowd.emplace_back("one", 1, false);
        while (acquires(all, one, 10)) {}
    }
    for (principal& one : crowd) EXPECT_FALSE(acquires(all, one, 10));
    for (principal& one : crowd) EXPECT_TRUE(acquires(all, one, 1000, highest_priority));
    for (principal& one : crowd) EXPECT_FALSE(acquires(all, one, 10));
}

TEST(call_budget, accepts_again_after_a_release) {
    call_budget all{1200};
    principal a{"a", 1, false};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(all.try_acquire(a, 600, 0), call_budget::share_kind::regular);
        EXPECT_EQ(all.try_acquire(a, 300, highest_priority), call_budget::share_kind::urgent);
        EXPECT_EQ(all.try_acquire(a, 1, highest_priority), call_budget::share_kind::none);
        all.release(a, 600, call_budget::share_kind::regular);
        all.release(a, 300, call_budget::share_kind::urgent);
        EXPECT_EQ(all.held() + a.regular.bytes + a.urgent.bytes, 0U);
        EXPECT_TRUE(a.has_no_calls());
    }
}

TEST(call_budget, refuses_nothing_without_a_limit) {
    call_budget all{call_budget::unlimited};
    principal a{"a", 1, false};
    for (const int p : {0, 1, highest_priority}) EXPECT_TRUE(acquires(all, a, std::size_t{1} << 40, p)) << p;
}

TEST(principals, keep_an_address_with_accepted_calls) {
    const instant start = instant{} + 1h;
    principals all;
    principal* const calls = all.at("10.0.0.1", start).get();
    calls->add_accepted(1);
    for (int i = 0; i < 1000; ++i) static_cast<void>(all.at("10.1.0." + std::to_string(i), start));
    EXPECT_EQ(all.at("10.0.0.1", start).get(), calls);
    EXPECT_EQ(calls->remove_accepted(1), 0U);
    EXPECT_TRUE(calls->has_no_calls());
}

// The accepted calls of a client stay when the client is closed or leaves.
TEST(fairness, calls_of_closed_clients_do_not_make_others_busy) {
    bank_server bank{with_callers({.workers = 1, .max_buffered_bytes = 4'000'000})};
    client chief{bank.port()}, teller{bank.port()};
    EXPECT_EQ(chief({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(teller({"AUTH", "teller", "third"}), "OK");
    client holds{bank.port()};
    EXPECT_EQ(holds({"AUTH", "chief", "more"}), "OK");
    holds.send({"CALL", "gate"});
    bank.held.await(1);
    const auto refused = [](const std::string& info) {
        return std::stoul(info.substr(info.find("BUSY=", info.find("procedure_join:")) + 5));
    };
    // Waits until `all` calls of `join` have been accepted or refused. Returns false if the server fills up before.
    const auto await_calls = [&](std::size_t all) {
        bool is_full = false;
        wait_for([&] {
            const std::string info = chief({"INFO"});
            is_full = number_of(info, "buffered_bytes") > 4'000'000;
            return is_full || number_of(info, "queued_0") + refused(info) == all;
        });
        return !is_full;
    };
    constexpr std::size_t clients = 10, calls = 6, bytes = 100'000;
    std::string all = wire({"AUTH", "clerk", "secret"});
    for (std::size_t i = 0; i < calls; ++i) all += wire({"CALL", "join", "-", std::string(bytes, 'x')});
    for (std::size_t i = 1; i <= clients; ++i) {
        bare_socket greedy{bank.port()};
        EXPECT_TRUE(greedy.send(all));
        ASSERT_TRUE(await_calls(i * calls));
        greedy.reset();
    }
    wait_for([&] { return number_of(chief({"INFO"}), "connected_clients") == 3; });
    const std::string info = chief({"INFO"});
    EXPECT_LE(number_of(info, "buffered_bytes_of_calls"), 500'000U) << "half of what is for calls";
    EXPECT_EQ(number_of(info, "calls_beyond_share"), refused(info));
    // The user with too many calls gets an error, and other users do not.
    client clerk{bank.port()};
    EXPECT_EQ(clerk({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(clerk({"CALL", "join", "-", std::string(bytes, 'x')}).substr(0, 38),
              "-BUSY accepted calls of user 'clerk' f");
    teller.send({"CALL", "join", "-", std::string(bytes, 'y')});
    ASSERT_TRUE(await_calls(clients * calls + 2));
    chief.send({"CALL", "join", "-", std::string(2 * bytes, 'z')});
    bank.held.open();
    EXPECT_EQ(holds.receive(), "OK");
    EXPECT_EQ(teller.receive(), std::string(bytes, 'y'));
    EXPECT_EQ(chief.receive(), std::string(2 * bytes, 'z'));
    wait_for([&] { return number_of(chief({"INFO"}), "buffered_bytes_of_calls") == 0; });
    EXPECT_EQ(clerk({"CALL", "join", "-", "a", "b"}), "a-b");
}

// Catches a share that a user's calls of the lowest priority use up.
TEST(fairness, an_urgent_call_is_accepted_beyond_the_share) {
    settings how = with_callers({.workers = 1, .max_buffered_bytes = 4'000'000});
    how.users.front().max_priority = highest_priority;
    bank_server bank{std::move(how)};
    client chief{bank.port()}, clerk{bank.port()}, holds{bank.port()};
    EXPECT_EQ(chief({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(clerk({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(holds({"AUTH", "chief", "more"}), "OK");
    holds.send({"CALL", "gate"});
    bank.held.await(1);
    const auto send = [&](const std::string& priority) {
        clerk.send({"CALL", "PRIORITY", priority, "join", "-", std::string(100'000, 'x')});
    };
    const auto figure = [&](const std::string& name) { return number_of(chief({"INFO"}), name); };
    for (int i = 0; i < 10; ++i) send("0");
    wait_for([&] { return figure("queued_0") + figure("calls_beyond_share") == 10; });
    const std::size_t refused = figure("calls_beyond_share");
    EXPECT_GT(refused, 0U) << "the user has its share";
    send("31");
    send("0");
    wait_for([&] { return figure("queued_31") + figure("calls_beyond_share") == refused + 2; });
    EXPECT_EQ(figure("queued_31"), 1U);
    bank.held.open();
    std::size_t busy = 0;
    for (int i = 0; i < 10; ++i) busy += clerk.receive().starts_with("-BUSY") ? 1 : 0;
    EXPECT_EQ(busy, refused);
    EXPECT_EQ(clerk.receive(), std::string(100'000, 'x'));
    EXPECT_TRUE(clerk.receive().starts_with("-BUSY"));
    EXPECT_EQ(holds.receive(), "OK");
    wait_for([&] { return figure("buffered_bytes_of_calls") == 0; });
}

// An admin's call is accepted and begins even if the server holds its maximum of buffered bytes.
TEST(fairness, calls_of_admins_run_without_free_memory) {
    bank_server bank{with_callers({.workers = 1, .max_buffered_bytes = 2'000'000, .max_buffered_bytes_clients = 0})};
    client chief{bank.port()}, clerk{bank.port()};
    EXPECT_EQ(chief({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(clerk({"AUTH", "clerk", "secret"}), "OK");
    bare_socket unread{bank.port(), 4096};
    unread.send(wire({"AUTH", "clerk", "secret"}) + wire({"CALL", "large", "20000000"}));
    wait_for([&] { return number_of(chief({"INFO"}), "buffered_bytes") > 2'000'000; });
    EXPECT_EQ(clerk({"CALL", "noop"}).substr(0, 5), "-BUSY");
    EXPECT_EQ(chief({"CALL", "noop"}), "OK");
    EXPECT_EQ(chief({"CALL", "join", "-", std::string(100'000, 'z')}), std::string(100'000, 'z'));
}

// ---- time for a request

TEST(fairness, an_unfinished_request_ends_its_connection) {
    bank_server bank{{.request_timeout = 50ms}};
    client other{bank.port()};
    bare_socket slow{bank.port()};
    slow.send(wire({"PING"}) + "*2\r\n$4\r\nECHO\r\n$5\r\nhel");
    EXPECT_EQ(slow.receive_all(), "+PONG\r\n-ERR Protocol error: the request was not complete within 50 ms\r\n");
    const std::string info = other({"INFO"});
    EXPECT_EQ(number_of(info, "requests_timed_out"), 1U);
    EXPECT_NE(info.find("latest_eviction:a client at 127.0.0.1:"), std::string::npos);
    EXPECT_EQ(other({"PING"}), "PONG") << "who has sent nothing is not late";
}

TEST(fairness, an_unread_request_does_not_time_out) {
    bank_server bank{{.workers = 1, .max_pipeline = 1, .request_timeout = 50ms}};
    client other{bank.port()};
    bare_socket ahead{bank.port()};
    ahead.send(wire({"CALL", "gate"}) + "*1\r\n$4\r\nPI");
    bank.held.await(1);
    // Another connection times out, which shows that the limit has passed.
    bare_socket late{bank.port()};
    late.send("*1\r\n$4\r\nPI");
    EXPECT_NE(late.receive_all(), "");
    EXPECT_EQ(number_of(other({"INFO"}), "requests_timed_out"), 1U);
    ahead.send("NG\r\n");
    bank.held.open();
    EXPECT_EQ(ahead.receive_lines(2), "+OK\r\n+PONG\r\n");
}

// ---- attention

TEST(principal, waits_after_using_its_share) {
    const instant start = instant{} + 1h;
    principal p{"p", 1, false}, chief{"chief", 1, true};
    EXPECT_EQ(p.next_command_at(start), start);
    p.charge(start, 2ms);
    EXPECT_EQ(p.next_command_at(start), start) << "so much is free";
    p.charge(start, 1ms);
    EXPECT_EQ(p.next_command_at(start), start + 10ms);
    EXPECT_EQ(p.next_command_at(start + 11ms), start + 11ms);
    EXPECT_FALSE(p.has_no_debt(start + 29ms));
    EXPECT_TRUE(p.has_no_debt(start + 30ms));
    chief.charge(start, 3ms);
    EXPECT_EQ(chief.next_command_at(start), start);
    principal stopped{"stopped", 1, false};
    stopped.charge(start, 1h);  // a debugger held the thread
    EXPECT_LE(stopped.next_command_at(start), start + 100ms);
}

TEST(principal, counts_waiting_connections) {
    principal p{"p", 1, false};
    p.begin_wait();
    p.begin_wait();
    p.end_wait();
    EXPECT_TRUE(p.has_waiting());
    p.end_wait();
    EXPECT_FALSE(p.has_waiting());
}

TEST(principals, keep_an_address_only_while_in_debt) {
    const instant start = instant{} + 1h;
    principals all;
    all.at("10.0.0.1", start)->charge(start, 10ms);
    EXPECT_FALSE(all.at("10.0.0.1", start)->has_no_debt(start));
    const auto connected = all.at("10.0.0.2", start);
    for (int i = 0; i < 1000; ++i) static_cast<void>(all.at("10.1.0." + std::to_string(i), start));
    EXPECT_LT(all.size(), 100U);
    EXPECT_FALSE(all.at("10.0.0.1", start)->has_no_debt(start));
    EXPECT_EQ(all.at("10.0.0.2", start), connected);
}

TEST(fairness, costly_commands_are_delayed_and_answered) {
    bank_server bank{with_operator({.workers = 1})};
    bare_socket curious{bank.port()};
    constexpr std::size_t many = 400;
    std::string all = wire({"AUTH", "clerk", "secret"});
    for (std::size_t i = 0; i < many; ++i) all += wire({"INFO"});
    curious.send(all + wire({"QUIT"}));
    client other{bank.port()};
    EXPECT_EQ(other({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(other({"CALL", "PRIORITY", "31", "noop"}), "OK");
    curious.half_close();
    const std::string answers = curious.receive_all();
    std::size_t answered = 0;
    for (std::size_t at = answers.find("# server"); at != std::string::npos; at = answers.find("# server", at + 1))
        ++answered;
    EXPECT_EQ(answered, many);
    EXPECT_TRUE(answers.ends_with("+OK\r\n"));
    EXPECT_GE(number_of(other({"INFO"}), "commands_delayed"), 1U);
}

// The connections of one address take turns: a connection that sends without end does not starve another connection.
TEST(fairness, connections_of_one_principal_take_turns) {
    bank_server bank{{.workers = 1, .max_pipeline = 30'000}};
    constexpr std::size_t many = 20'000;
    bare_socket curious{bank.port()};
    std::string all;
    for (std::size_t i = 0; i < many; ++i) all += wire({"INFO"});
    std::atomic<bool> is_over{false};
    std::jthread asks{[&] {
        static_cast<void>(curious.send(all));
        while (!is_over && curious.receive(65'536).size() == 65'536) {}
        curious.reset();
    }};
    client other{bank.port()};
    wait_for([&] { return number_of(other({"INFO"}), "commands_delayed") > 0; });
    EXPECT_LT(number_of(other({"INFO"}), "commands"), many) << "it has waited for the end of them all";
    is_over = true;
}

// ---- places

TEST(fairness, an_admin_connects_at_the_client_limit) {
    bank_server bank{with_operator({.max_clients = 2, .reserved_clients = 2, .login_timeout = 0ms})};
    client one{bank.port()}, two{bank.port()};
    EXPECT_EQ(one({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(two({"AUTH", "clerk", "secret"}), "OK");
    client three{bank.port()};
    EXPECT_EQ(three({"AUTH", "clerk", "secret"}), "-MAXCLIENTS max number of clients reached");
    EXPECT_EQ(three.receive(), "closed");
    std::deque<bare_socket> silent;
    for (int i = 0; i < 50; ++i) silent.emplace_back(bank.port());
    client chief{bank.port()};
    EXPECT_EQ(chief({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(chief({"CALL", "PRIORITY", "31", "noop"}), "OK");
    // The admin's connection stays, however many others come.
    for (int i = 0; i < 50; ++i) silent.emplace_back(bank.port());
    wait_for([&] { return number_of(chief({"INFO"}), "clients_displaced") >= 90; });
    EXPECT_EQ(one({"ACL", "WHOAMI"}), "clerk");
}

// If the password is the only credential, every client that knows it is an admin.
TEST(fairness, a_client_with_the_password_displaces_clients_without) {
    bank_server bank{{.password = "open", .max_clients = 2, .reserved_clients = 2, .login_timeout = 0ms}};
    std::deque<bare_socket> silent;
    for (int i = 0; i < 20; ++i) silent.emplace_back(bank.port());
    client one{bank.port()};
    EXPECT_EQ(one({"AUTH", "open"}), "OK");
    for (int i = 0; i < 20; ++i) silent.emplace_back(bank.port());
    wait_for([&] { return number_of(one({"INFO"}), "clients_displaced") >= 30; });
    client two{bank.port()};
    EXPECT_EQ(two({"HELLO", "2", "AUTH", "default", "open"}).substr(0, 7), "(server");
    EXPECT_EQ(one({"PING"}), "PONG");
}

TEST(client_directory, displaces_from_the_largest_address_and_admins_last) {
    struct nowhere final : client_directory::client_owner {
        void check_killed() noexcept override {}
    } home;
    client_directory all;
    const auto crowd = std::make_shared<principal>("crowd", 1, false),
               other = std::make_shared<principal>("o", 1, false);
    const auto come = [&](const std::shared_ptr<principal>& from) -> client_directory::client_entry& {
        auto& e = all.add("a", {}, home);
        all.set_owner(e, from);
        all.set_provisional(e, client_directory::provisional_state::not_logged_in);
        return e;
    };
    EXPECT_FALSE(all.displace());
    auto &lone = come(other), &names = come(crowd), &first = come(crowd), &second = come(crowd);
    all.record_operator_login(names);
    EXPECT_TRUE(all.displace());
    EXPECT_TRUE(first.is_killed());
    EXPECT_FALSE(second.is_killed());
    all.remove(first);
    EXPECT_TRUE(all.displace());
    EXPECT_TRUE(lone.is_killed()) << "of addresses with as many: who came first";
    EXPECT_TRUE(all.displace());
    EXPECT_TRUE(second.is_killed());
    EXPECT_TRUE(all.displace());
    EXPECT_TRUE(names.is_killed());
    EXPECT_FALSE(all.displace());
}

// ---- logins

/// Records the order in which logins are given back.
class recording_owner final : public request_owner {
public:
    void complete_request(request& done) noexcept override {
        const std::lock_guard hold{guard_};
        order_.push_back(&done);
        came_.notify_all();
    }
    byte_budget& budget() noexcept override { return budget_; }
    std::vector<request*> after(std::size_t count) {
        std::unique_lock hold{guard_};
        came_.wait(hold, [&] { return order_.size() >= count; });
        return order_;
    }

private:
    byte_budget budget_{std::size_t{1} << 20};
    std::mutex guard_;
    std::condition_variable came_;
    std::vector<request*> order_;
};

TEST(password_verifier_test, serves_others_beside_a_crowd) {
    using verdict = login_claim::login_result;
    accounts users{with_operator({}).users};
    recording_owner given;
    std::deque<request> all;
    password_verifier door{users};
    const auto here = std::make_shared<principal>("here", 1, false), there = std::make_shared<principal>("t", 1, false);
    const auto ask = [&](const std::shared_ptr<principal>& from, const char* name, bool stays) -> request& {
        request& r = all.emplace_back(given);
        r.login.origin = from;
        r.login.who = users.find(name);
        r.login.password = "more";
        r.is_client_gone = !stays;
        door.submit(r);
        return r;
    };
    for (int i = 0; i < 300; ++i) static_cast<void>(ask(here, "clerk", false));
    for (int i = 0; i < 20; ++i) static_cast<void>(ask(here, "nobody", false));
    request &same_address = ask(here, "chief", true), &other_address = ask(there, "clerk", false);
    door.start();
    const std::vector<request*> order = given.after(all.size());
    EXPECT_EQ(same_address.login.state, verdict::correct);
    EXPECT_EQ(other_address.login.state, verdict::unchecked) << "its client had gone, but there was room for it";
    const auto turned_away =
        std::ranges::count_if(all, [](const request& r) { return r.login.state == verdict::busy; });
    EXPECT_EQ(turned_away, 322 - 256);
    const auto place = [&](const request& r) { return std::ranges::find(order, &r) - order.begin() - turned_away; };
    EXPECT_EQ(place(same_address), 0);
    EXPECT_LE(place(other_address), 1);
}

}  // namespace
}  // namespace tutti::server
