// A bad network in user space: it takes connections on a port of loopback, passes bytes on in pieces and late, cuts
// connections, and is silent for a while.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tutti::cluster::testing {

class proxy {
public:
    /// `to`: host:port, or the path of a Unix socket.
    proxy(std::string to, std::uint64_t seed);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    [[nodiscard]] std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
    /// Pieces of any size, each up to a millisecond late.
    void disturb(bool on) noexcept { disturbed_.store(on); }
    /// Passes nothing on, and keeps what comes: a partition. Afterwards it arrives.
    void hold(bool on) noexcept { held_.store(on); }
    /// Ends all connections; bytes that are under way are lost.
    void cut() noexcept { generation_.fetch_add(1); }

private:
    void accept_all();
    void carry(int from, std::uint64_t seed);

    const std::string to_;
    int listening_ = -1;
    int port_ = 0;
    std::atomic<bool> disturbed_{false}, held_{false}, over_{false};
    std::atomic<std::uint64_t> generation_{0};
    std::uint64_t seed_;
    std::thread accepting_;
    std::vector<std::thread> carrying_;  // of the accepting thread
};

}  // namespace tutti::cluster::testing
