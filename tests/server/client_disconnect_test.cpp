// Clients that leave while their calls run. Catches a call that keeps waiting after its client has left. Such a call
// occupies the queue forever, and takes the coin of the next call.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "server/bank.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

void until(const std::function<bool()>& so) {
    while (!so()) std::this_thread::sleep_for(1ms);
}

std::size_t ended(client& ask, const std::string& procedure, const std::string& how) {
    const std::string info = ask({"INFO"});
    const std::size_t line = info.find("procedure_" + procedure + ":");
    if (line == std::string::npos) return 0;
    const std::size_t key = info.find(how + "=", line);
    if (key == std::string::npos || key > info.find("\r\n", line)) return 0;
    return std::stoul(info.substr(key + how.size() + 1));
}

TEST(client_disconnect_test, ends_a_waiting_call) {
    bank_server bank{{.workers = 2}};
    client stays{bank.port()};
    constexpr std::size_t many = 20;
    {
        std::vector<std::unique_ptr<bare_socket>> leaving;
        for (std::size_t i = 0; i < many; ++i) {
            leaving.push_back(std::make_unique<bare_socket>(bank.port()));
            leaving.back()->send(wire({"CALL", "take"}));
        }
        until([&] { return number_of(stays({"INFO"}), "connected_clients") == many + 1; });
    }
    until([&] { return ended(stays, "take", "CLIENTGONE") == many; });
    until([&] { return number_of(stays({"INFO"}), "connected_clients") == 1; });
    EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
    EXPECT_EQ(stays({"CALL", "left"}), "1") << "nobody is there to take it";
    EXPECT_EQ(stays({"CALL", "take"}), "OK");
    // State that is reused keeps nothing of the former clients. The waiting call is checked several times meanwhile.
    client waits{bank.port()};
    waits.send({"CALL", "take"});
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
    EXPECT_EQ(waits.receive(), "OK");
}

// Catches a server that notices a client's end only by reading. The server does not read from this client any more,
// because the client's pipeline is full.
TEST(client_disconnect_test, is_noticed_with_a_full_pipeline) {
    bank_server bank{{.workers = 2, .max_pipeline = 1}};
    client stays{bank.port()};
    bare_socket leaving{bank.port()};
    leaving.send(wire({"CALL", "ID", "k", "take"}));
    until([&] { return number_of(stays({"INFO"}), "running") + number_of(stays({"INFO"}), "parked") != 0; });
    leaving.half_close();
    until([&] { return ended(stays, "take", "CLIENTGONE") == 1; });
    EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
    EXPECT_EQ(stays({"CALL", "ID", "k", "take"}), "OK") << "a call that its client has left may be made again";
}

TEST(client_disconnect_test, half_closed_clients_get_an_error) {
    bank_server bank;
    bare_socket leaving{bank.port()};
    leaving.send(wire({"CALL", "noop"}) + wire({"CALL", "take"}));
    leaving.half_close();
    EXPECT_EQ(leaving.receive_all(), "+OK\r\n-CLIENTGONE take: its client disconnected while it waited in `retry`\r\n");
}

// An interruption is an exception. Catches an interruption that ends the process at a noexcept function.
TEST(client_disconnect_test, ends_a_waiting_noexcept_call) {
    bank_server bank{{.workers = 2}};
    client stays{bank.port()};
    for (const std::string name : {"take_noexcept", "take_noexcept_owning", "take_in_destructor"}) {
        for (int i = 0; i < 3; ++i) {
            bare_socket leaving{bank.port()};
            leaving.send(wire({"CALL", name}));
            leaving.half_close();
            const std::string expected = "-CLIENTGONE " + name + ": its client disconnected ";
            EXPECT_EQ(leaving.receive_all().substr(0, expected.size()), expected);
        }
        EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
        EXPECT_EQ(stays({"CALL", name}), "OK");
        EXPECT_EQ(stays({"CALL", "left"}), "0");
    }
}

TEST(client_disconnect_test, leaves_procedures_that_outlive_their_client) {
    bank_server bank{{.workers = 2}};
    client stays{bank.port()};
    {
        bare_socket leaving{bank.port()};
        leaving.send(wire({"CALL", "take_anyway"}));
        until([&] { return stays({"CALL", "waiting"}) == "1"; });
    }
    until([&] { return number_of(stays({"INFO"}), "connected_clients") == 1; });
    EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
    until([&] { return stays({"CALL", "left"}) == "0"; });
    EXPECT_EQ(ended(stays, "take_anyway", "CLIENTGONE"), 0U);
}

TEST(client_disconnect_test, is_visible_to_the_procedure) {
    bank_server bank{{.workers = 2}};
    client stays{bank.port()};
    EXPECT_EQ(stays({"CALL", "put", "1"}), "OK");
    {
        bare_socket leaving{bank.port()};
        leaving.send(wire({"CALL", "take_unless_gone"}));
        until([&] { return stays({"CALL", "waiting"}) == "1"; });
    }
    until([&] { return ended(stays, "take_unless_gone", "CANCELLED") == 1; });
    EXPECT_EQ(stays({"CALL", "left"}), "1");
}

TEST(client_disconnect_test, leaves_room_for_another_client) {
    const std::string path = "/tmp/tutti-gone-" + std::to_string(::getpid());
    bank_server bank{{.unix_socket = path, .max_clients = 1}};
    client all{bank.port()};
    EXPECT_EQ(all({"PING"}), "PONG");
    bare_socket refused{bank.port()};
    EXPECT_EQ(refused.receive_all().substr(0, 11), "-MAXCLIENTS");
    client administrator{path};
    EXPECT_EQ(administrator({"PING"}), "PONG");
    client another{path};
    EXPECT_EQ(another.receive().substr(0, 11), "-MAXCLIENTS");
}

}  // namespace
}  // namespace tutti::server
