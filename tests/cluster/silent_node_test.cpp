// A node that is connected but silent: stopped, or cut off. In this test, a socket sends a hello and then only listens.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "support/watchdog.hpp"
#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace {

using namespace tutti;
using namespace tutti::wire;

class mute_node {
public:
    mute_node(const std::string& path, const hello& says) {
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        path.copy(to.sun_path, sizeof to.sun_path - 1);
        // the other node may not listen yet
        while (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::this_thread::yield();
        const std::string body = encode(says);
        const header h{.length = static_cast<std::uint32_t>(body.size()), .type = message_type::hello, .from = 1};
        const std::string frame = encode(h) + body;
        EXPECT_EQ(::send(socket_, frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
    }
    ~mute_node() { ::close(socket_); }
    mute_node(const mute_node&) = delete;
    mute_node& operator=(const mute_node&) = delete;

    /// Returns the kinds of the messages received until the other side closes the connection.
    std::string kinds() {
        std::string bytes, all;
        char some[512];
        for (ssize_t n = 0; (n = ::recv(socket_, some, sizeof some, 0)) > 0;) bytes.append(some, std::size_t(n));
        header h;
        for (std::size_t at = 0; at < bytes.size(); at += header::size + h.length) {
            EXPECT_TRUE(decode(std::string_view{bytes}.substr(at, header::size), h));
            all.push_back(static_cast<char>(h.type));
        }
        return all;
    }

private:
    const int socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

// Catches a node that notices a stopped node only when it asks that node something.
TEST(cluster_failure, treats_a_silent_node_as_lost) {
    support::watchdog guard{"treats_a_silent_node_as_lost"};
    const std::string prefix = ::testing::TempDir() + "tutti-mute-" + std::to_string(::getpid()) + "-";
    cluster::node_options how{.addresses = {"unix:" + prefix + "0", "unix:" + prefix + "1"},
                              .failure_timeout = std::chrono::milliseconds{80}};
    std::string heard;
    std::thread other{[&] {
        const cluster::object_id name{how.cluster + "\n" + how.addresses[0] + "\n" + how.addresses[1]};
        heard = mute_node{prefix + "0", {.cluster = name.low, .nodes = 2}}.kinds();
    }};
    const cluster::node here{how};
    other.join();  // the connection has been closed
    while (!here.lost(1)) std::this_thread::yield();
    EXPECT_EQ(heard.front(), static_cast<char>(message_type::hello));
    EXPECT_EQ(heard.back(), static_cast<char>(message_type::heartbeat)) << "a silent node sends heartbeats";
}

}  // namespace
