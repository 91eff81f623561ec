// A proxy between a follower and its leader that simulates network faults.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace tutti::server {

/// Forwards one connection at a time, in both directions.
class proxy {
public:
    explicit proxy(std::uint16_t to) : to_{to} {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in here = loopback(0);
        socklen_t size = sizeof here;
        if (::bind(listener_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
            ::listen(listener_, 8) != 0 || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) != 0)
            throw std::runtime_error{"the proxy cannot listen"};
        port_ = ntohs(here.sin_port);
        thread_ = std::thread{[this] { work(); }};
    }
    ~proxy() {
        ends_ = true;
        thread_.join();
        ::close(listener_);
    }
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Holds the leader's answers: after the return of this function, none comes through.
    void hold() {
        holds_ = true;
        // The current turn may not have seen the flag.
        for (const unsigned seen = turns_; turns_ - seen < 2 && !idle;)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    void release() noexcept { holds_ = false; }

    std::atomic<bool> away{false};  ///< connections are closed and refused
    std::atomic<int> tears{0};      ///< number of longer answers that are cut in half, after which the connection ends
    std::atomic<int> damages{0};    ///< number of longer answers in which one byte is changed
    std::atomic<bool> idle{true};   ///< no connection exists

private:
    static constexpr std::size_t some_length = 150;  // an answer without news is shorter

    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a.sin_port = htons(port);
        return a;
    }
    static bool readable(int s) {
        pollfd one{.fd = s, .events = POLLIN, .revents = 0};
        return ::poll(&one, 1, 5) > 0;
    }
    void work() {
        while (!ends_) {
            if (away || !readable(listener_)) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
                continue;
            }
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            const sockaddr_in there = loopback(to_);
            idle = false;
            if (::connect(server, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0)
                forward(client, server);
            ::close(client);
            ::close(server);
            idle = true;
        }
    }
    void forward(int client, int server) {
        std::array<char, 65'536> bytes;
        for (; !ends_ && !away; ++turns_) {
            if (readable(client)) {
                const ssize_t n = ::recv(client, bytes.data(), bytes.size(), 0);
                if (n <= 0) return;
                static_cast<void>(::send(server, bytes.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL));
            }
            if (holds_ || !readable(server)) continue;
            const ssize_t n = ::recv(server, bytes.data(), bytes.size(), 0);
            if (n <= 0) return;
            auto count = static_cast<std::size_t>(n);
            const bool is_piece = count > some_length;
            const bool torn = is_piece && take(tears);
            if (torn) count /= 2;
            else if (is_piece && take(damages)) bytes[count - 20] ^= 1;
            static_cast<void>(::send(client, bytes.data(), count, MSG_NOSIGNAL));
            if (torn) return;
        }
    }
    static bool take(std::atomic<int>& from) {
        int left = from.load();
        while (left > 0 && !from.compare_exchange_weak(left, left - 1)) {}
        return left > 0;
    }

    const std::uint16_t to_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> ends_{false}, holds_{false};
    std::atomic<unsigned> turns_{0};
    std::thread thread_;
};

}  // namespace tutti::server
