// Listening sockets, and an I/O thread without sufficient memory or descriptors. Catches a start that waits for another
// server, and an end that removes another server's socket. Catches a client whose lack of memory ends the whole server.

#include "server/net/sockets.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "server/calls/thread_pool.hpp"
#include "server/checked_settings.hpp"
#include "server/client.hpp"
#include "server/io_thread_parts.hpp"
#include "support/realtime_threads.hpp"
#include "tutti/server/endpoint.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {
namespace {

std::string fresh_path() { return testing::TempDir() + "tutti-s-" + std::to_string(::getpid()); }

handle socket_for(sockaddr_un& address, const std::string& path) {
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return handle{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

TEST(endpoint, round_trips_through_text) {
    for (const auto& [text, host, port] :
         {std::tuple{"leader:7411", "leader", 7411}, {"10.0.0.1:1", "10.0.0.1", 1}, {"[::1]:65535", "::1", 65'535}}) {
        const std::optional<endpoint> e = parse_endpoint(text);
        ASSERT_TRUE(e) << text;
        EXPECT_EQ(e->host, host);
        EXPECT_EQ(e->port, port);
        EXPECT_EQ(to_string(*e), text);
    }
    for (const char* const text : {"", ":", ":7411", "leader", "leader:", "leader:0", "leader:65536", "leader:-1",
                                   "leader:7411 ", "[::1]", "leader:0x10"})
        EXPECT_FALSE(parse_endpoint(text)) << text;
}

TEST(settings, reserve_memory_for_accepted_calls) {
    settings how{.max_buffered_bytes = 2'000'000, .max_buffered_bytes_clients = 1'999'999};
    EXPECT_NO_THROW(static_cast<void>(checked(how)));
    how.max_buffered_bytes_clients = 2'000'000;
    EXPECT_THROW(static_cast<void>(checked(how)), std::invalid_argument);
    how.max_buffered_bytes_clients = 0;
    EXPECT_NO_THROW(static_cast<void>(checked(how)));
}

// The sum of a duration beyond the clock and the current time would overflow.
TEST(settings, refuse_durations_beyond_the_clock) {
    const settings usual{};
    EXPECT_NO_THROW(static_cast<void>(checked(usual)));
    const auto refused = [&](auto settings::* which) {
        settings how = usual;
        how.*which = std::remove_reference_t<decltype(how.*which)>::max();
        EXPECT_THROW(static_cast<void>(checked(how)), std::invalid_argument);
        how.*which = max_duration;
        EXPECT_NO_THROW(static_cast<void>(checked(how)));
    };
    refused(&settings::stuck_after);
    refused(&settings::short_call_limit);
    refused(&settings::reply_cache_ttl);
    refused(&settings::shutdown_timeout);
    refused(&settings::time_limit);
    refused(&settings::idle_timeout);
    refused(&settings::write_timeout);
    refused(&settings::keepalive);
    refused(&settings::login_timeout);
    refused(&settings::request_timeout);
    settings how = usual;
    how.log.wait_followers_timeout = std::chrono::milliseconds::max();
    EXPECT_THROW(static_cast<void>(checked(how)), std::invalid_argument);
    how = usual;
    how.log.replay_limit = std::chrono::milliseconds::max();
    EXPECT_THROW(static_cast<void>(checked(how)), std::invalid_argument);
    service procedures{{}};
    EXPECT_THROW(procedures.procedures().add("p", {.time_limit = std::chrono::milliseconds::max()}, [] {}),
                 registration_error);
    EXPECT_THROW(procedures.procedures().add("p", {.deadline = std::chrono::microseconds::max()}, [] {}),
                 registration_error);
}

TEST(endpoint, accepts_brackets) {
    settings how{.port = 0, .host = "[::1]"};
    how.follow.host = "[fe80::1]";
    how.log.file = "log";
    const settings known = checked(how);
    EXPECT_EQ(known.host, "::1");
    EXPECT_EQ(known.follow.host, "fe80::1");
    EXPECT_EQ(to_string(endpoint{how.host, 7411}), "[::1]:7411");
}

// Catches a socket whose permissions umask changes, and a path that is a symbolic link to another user's file.
TEST(unix_socket, has_the_given_permissions) {
    const std::string path = fresh_path();
    for (const unsigned mask : {0U, 077U, 0777U}) {
        const ::mode_t before = ::umask(mask);
        for (const unsigned mode : {0660U, 0600U, 0U, 0777U}) {
            local_listener made = listen_unix(path, mode);
            struct stat is{};
            EXPECT_EQ(::lstat(path.c_str(), &is), 0);
            EXPECT_EQ(is.st_mode & 07777, mode) << mask;
            made.stop();
        }
        ::umask(before);
    }
    EXPECT_THROW(static_cast<void>(checked({.unix_socket = path, .unix_mode = 01777})), std::invalid_argument);
}

TEST(unix_socket, does_not_wait_for_a_busy_listener) {
    const std::string path = fresh_path();
    sockaddr_un address{};
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    const handle busy = socket_for(address, path);
    ASSERT_EQ(::bind(busy.get(), at, sizeof address), 0);
    ASSERT_EQ(::listen(busy.get(), 1), 0);
    std::vector<handle> crowd;
    do crowd.push_back(socket_for(address, path));
    while (::connect(crowd.back().get(), at, sizeof address) == 0);
    EXPECT_THROW(static_cast<void>(listen_unix(path)), std::system_error);
    ::unlink(path.c_str());
}

TEST(unix_socket, replaces_only_an_abandoned_socket) {
    const std::string path = fresh_path();
    {
        sockaddr_un address{};
        const handle dead = socket_for(address, path);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    local_listener first = listen_unix(path);
    ASSERT_EQ(::unlink(path.c_str()), 0);
    local_listener second = listen_unix(path);
    first.stop();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "it is the second one's";
    second.stop();
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

/// Returns the kernel's value of a TCP option for an accepted client.
int option_of_a_client(int level, int option, const tcp_keepalive& over) {
    const handle listener = listen_tcp("127.0.0.1", 0);
    const bare_socket client{port_of(listener)};
    const handle accepted = accept_from(listener, over);
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(accepted.get(), level, option, &value, &size), 0);
    return value;
}

// The client's machine has vanished before or after an answer was sent. A test cannot make a machine vanish, so it
// checks the options that the kernel got: a timeout of 120 s with the default keep-alive of 60 s.
TEST(tcp, closes_silent_peers) {
    using std::chrono::seconds;
    EXPECT_EQ(option_of_a_client(SOL_SOCKET, SO_KEEPALIVE, {seconds{60}, true}), 1);
    EXPECT_EQ(option_of_a_client(IPPROTO_TCP, TCP_KEEPIDLE, {seconds{60}, true}), 60);
    EXPECT_EQ(option_of_a_client(IPPROTO_TCP, TCP_USER_TIMEOUT, {seconds{60}, true}), 120'000);
    EXPECT_EQ(option_of_a_client(IPPROTO_TCP, TCP_USER_TIMEOUT, {seconds{60}, false}), 0);
    EXPECT_EQ(option_of_a_client(IPPROTO_TCP, TCP_USER_TIMEOUT, {seconds{0}, true}), 0);
    EXPECT_EQ(option_of_a_client(SOL_SOCKET, SO_KEEPALIVE, {seconds{0}, true}), 0);
}

// Catches a priority that is requested but not set, and workers that also get it and then run before I/O threads.
TEST(realtime_priority, applies_to_io_threads_only) {
    if (!support::may_have_realtime_threads()) GTEST_SKIP() << support::no_realtime_rights;
    service s{{.port = 0, .io_realtime = 7}};
    s.start();
    client{s.port()}({"PING"});  // the server is up
    EXPECT_EQ(support::realtime_threads(), std::vector<std::string>{"tutti-io_thread 7"});
}

TEST(realtime_priority, ends_the_start_without_permission) {
    const auto refused = [] {
        if (!support::take_realtime_rights_away()) std::_Exit(2);
        try {
            service s{{.port = 0, .io_realtime = 1}};
            s.start();
        } catch (const std::runtime_error& e) {
            std::_Exit(std::string_view{e.what()}.find("LimitRTPRIO=") != std::string_view::npos ? 0 : 3);
        }
        std::_Exit(1);
    };
    EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "");
}

TEST(io_thread, survives_a_client_without_memory) {
    timeline shown{1};
    thread_pool pool{1, 1, shown};
    io_thread_parts parts{pool};
    const handle listener = listen_tcp("127.0.0.1", 0);
    bool first = true;
    parts.shared.listening_sockets.push_back({listener, [&](handle s) {
                                                  if (std::exchange(first, false)) throw std::bad_alloc{};
                                                  return std::make_unique<stream>(std::move(s));
                                              }});
    io_thread serving{parts.shared, 0};
    EXPECT_TRUE(serving.responds());
    EXPECT_FALSE(serving.responds()) << "it has not gone round since";
    serving.start();
    while (!serving.responds()) std::this_thread::yield();
    EXPECT_EQ(bare_socket{port_of(listener)}.receive_all(), "") << "it is turned away";
    EXPECT_EQ(client{port_of(listener)}({"PING"}), "PONG");
    serving.begin_drain();
    serving.join();
    static_cast<void>(serving.responds());
    EXPECT_TRUE(serving.responds()) << "who has ended is missed by nobody";
    EXPECT_EQ(serving.counts().rejected_connections.get(), 1U);
    pool.drain();
}

}  // namespace
}  // namespace tutti::server
