// A follower's connection to a leader that is slow or goes away. Catches
//   - a follower that does not end while name servers do not answer
//   - a start that dies of SIGPIPE, or gives up when the leader is only busy
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "server/replication/proxy.hpp"
#include "server/replication/servers.hpp"

namespace {

/// Simulated name servers that answer, when the test allows it, for one host.
struct {
    std::atomic<bool> hold{false};
    std::atomic<int> asked{0}, answered{0};
} name_servers;

constexpr const char* slow_host = "slow.test";

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* how, addrinfo** found) {
    static const auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (host == nullptr || std::strcmp(host, slow_host) != 0 || (how->ai_flags & AI_NUMERICHOST) != 0)
        return real(host, port, how, found);
    ++name_servers.asked;
    name_servers.hold.wait(true);
    const int failed = real("127.0.0.1", port, how, found);
    ++name_servers.answered;
    return failed;
}

namespace tutti::server {
namespace {

class leader_connection_test : public servers {};

TEST_F(leader_connection_test, ends_while_name_servers_do_not_answer) {
    bank leader{with_log("a")};
    proxy between{leader.serves.port()};
    settings how = following("b", between.port());
    how.follow.host = slow_host;
    {
        bank follower{how};
        write(leader, 1);
        until_same(leader, follower);
        name_servers.hold = true;
        const int before = name_servers.asked;
        between.away = true;
        until([&] { return name_servers.asked > before; });
    }
    EXPECT_LT(name_servers.answered, name_servers.asked) << "it has ended, and they are still asked";
    name_servers.hold = false;
    name_servers.hold.notify_all();
    until([&] { return name_servers.answered == name_servers.asked; });
}

TEST_F(leader_connection_test, is_retried_after_maxclients) {
    settings how = with_log("a");
    how.max_clients = 1;
    bank leader{how};
    auto only = std::make_unique<client>(leader.serves.port());
    EXPECT_EQ((*only)({"CALL", "next", "0", "1"}), "1");
    std::thread goes{[&] {
        until([&] { return has_notice("MAXCLIENTS"); });
        only.reset();
    }};
    bank follower{following("b", leader.serves.port())};
    goes.join();
    until_same(leader, follower);
}

// Catches a follower that reports no lag while the lag is unknown.
TEST_F(leader_connection_test, loss_leaves_the_lag_unknown) {
    bank leader{with_log("a")};
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    write(leader, 1);
    until_same(leader, follower);
    until([&] { return follower.says("lag_bytes:0\r\n"); });
    between.away = true;
    until([&] { return follower.says("leader_connected:0\r\n"); });
    write(leader, 1, 2);
    EXPECT_TRUE(follower.says("lag_bytes:unknown\r\n"));
    between.away = false;
    until_same(leader, follower);
    until([&] { return follower.says("lag_bytes:0\r\n"); });
}

/// Closes each connection a moment after its start, with unread data, as an ending process does.
class quitter {
public:
    quitter() {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        here_.sin_family = AF_INET;
        here_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof here_;
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&here_), sizeof here_), 0);
        EXPECT_EQ(::listen(listener_, 8), 0);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&here_), &size), 0);
        thread_ = std::thread{[this] {
            for (int s = 0; (s = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
                std::this_thread::sleep_for(10ms);
                ::shutdown(s, SHUT_WR);
                const linger at_once{.l_onoff = 1, .l_linger = 0};
                ::setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
                ::close(s);
            }
        }};
    }
    ~quitter() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    quitter(const quitter&) = delete;
    quitter& operator=(const quitter&) = delete;
    [[nodiscard]] std::uint16_t port() const { return ntohs(here_.sin_port); }

private:
    int listener_ = -1;
    sockaddr_in here_{};
    std::thread thread_;
};

/// Writes a file that takes longer to read than `quitter` keeps a connection. So the first write finds the connection
/// closed.
void write_long_authority(const std::string& file) {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const made = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    X509_sign(made, key, EVP_sha256());
    std::FILE* const to = std::fopen(file.c_str(), "w");
    for (int i = 0; i < 5000; ++i) PEM_write_X509(to, made);
    std::fclose(to);
    X509_free(made);
    EVP_PKEY_free(key);
}

// The start runs on this thread, where a write to a closed connection would end the program.
TEST_F(leader_connection_test, loss_raises_no_signal) {
    write_long_authority(file("authority"));
    {
        bank alone{with_log("b")};
        write(alone, 1);
    }
    const quitter gone;
    settings how = following("b", gone.port());
    how.follow.tls_authority = file("authority");
    bank follower{how};
    EXPECT_TRUE(has_notice("this server will try again"));
}

}  // namespace
}  // namespace tutti::server
