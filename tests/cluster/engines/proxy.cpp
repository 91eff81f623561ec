#include "cluster/engines/proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "support/random.hpp"

namespace tutti::cluster::testing {
namespace {

int connect_to(const std::string& where) {
    if (where.starts_with("/")) {
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        if (where.size() >= sizeof a.sun_path) return -1;
        std::memcpy(a.sun_path, where.c_str(), where.size() + 1);
        const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) return s;
        ::close(s);
        return -1;
    }
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where.substr(where.rfind(':') + 1))));
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) return s;
    ::close(s);
    return -1;
}

bool send_all(int to, const char* bytes, std::size_t count) {
    while (count != 0) {
        const ssize_t n = ::send(to, bytes, count, MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        count -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

proxy::proxy(std::string to, std::uint64_t seed) : to_{std::move(to)}, seed_{seed} {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof a;
    if (listening_ < 0 || ::bind(listening_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 ||
        ::listen(listening_, 64) != 0 || ::getsockname(listening_, reinterpret_cast<sockaddr*>(&a), &length) != 0)
        throw std::runtime_error{"the proxy cannot listen"};
    port_ = ntohs(a.sin_port);
    accepting_ = std::thread{[this] { accept_all(); }};
}

proxy::~proxy() {
    over_ = true;
    accepting_.join();
    for (std::thread& t : carrying_) t.join();
    ::close(listening_);
}

void proxy::accept_all() {
    while (!over_.load()) {
        pollfd p{listening_, POLLIN, 0};
        if (::poll(&p, 1, 20) <= 0) continue;
        const int from = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
        if (from >= 0) carrying_.emplace_back([this, from, seed = ++seed_] { carry(from, seed); });
    }
}

void proxy::carry(int from, std::uint64_t seed) {
    const std::uint64_t mine = generation_.load();
    support::random dice{seed};
    const int to = connect_to(to_);
    constexpr int on = 1;  // delays come from the generator here, not from Nagle's algorithm
    for (const int s : {from, to}) static_cast<void>(::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    std::array<char, 16384> bytes{};
    const auto pass = [&](int in, int out) {
        const std::size_t most = disturbed_.load() ? 1 + dice.below(400) : bytes.size();
        const ssize_t n = ::recv(in, bytes.data(), most, 0);
        if (n <= 0) return false;
        if (in == from) carried_.fetch_add(static_cast<std::uint64_t>(n));
        if (disturbed_.load()) std::this_thread::sleep_for(std::chrono::microseconds{dice.below(1000)});
        return send_all(out, bytes.data(), static_cast<std::size_t>(n));
    };
    while (to >= 0 && !over_.load() && generation_.load() == mine) {
        if (held_.load()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            continue;
        }
        pollfd both[2]{{from, POLLIN, 0}, {to, POLLIN, 0}};
        if (::poll(both, 2, 5) <= 0) continue;
        if (both[0].revents != 0 && !pass(from, to)) break;
        if (both[1].revents != 0 && !pass(to, from)) break;
    }
    ::close(from);
    if (to >= 0) ::close(to);
}

}  // namespace tutti::cluster::testing
