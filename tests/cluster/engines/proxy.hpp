// A bad network in user space. The proxy accepts connections on a loopback port, and passes bytes on in pieces and
// late. It can cut connections, and be silent for a while.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
    /// Passes bytes on in pieces of any size, each up to a millisecond late.
    void disturb(bool on) noexcept { disturbed_.store(on); }
    /// Passes nothing on and buffers the bytes, as in a partition. Delivers them afterwards.
    void hold(bool on) noexcept { held_.store(on); }
    /// Returns the number of bytes that went from callers to the place behind the proxy.
    [[nodiscard]] std::uint64_t carried() const noexcept { return carried_.load(); }
    /// Closes all connections; bytes in transit are lost.
    void cut() noexcept { generation_.fetch_add(1); }

private:
    void accept_all();
    void carry(int from, std::uint64_t seed);

    const std::string to_;
    int listening_ = -1;
    int port_ = 0;
    std::atomic<bool> disturbed_{false}, held_{false}, over_{false};
    std::atomic<std::uint64_t> generation_{0}, carried_{0};
    std::uint64_t seed_;
    std::thread accepting_;
    std::vector<std::thread> carrying_;  // used by the accepting thread
};

/// One proxy in front of each of several places.
class proxies {
public:
    proxies(const std::vector<std::string>& to, std::uint64_t seed) {
        for (const std::string& place : to) all_.push_back(std::make_unique<proxy>(place, seed++));
    }
    [[nodiscard]] std::vector<std::string> places() const {
        std::vector<std::string> all;
        for (const auto& one : all_) all.push_back(one->place());
        return all;
    }
    void disturb(bool on) noexcept {
        for (const auto& one : all_) one->disturb(on);
    }
    void hold(bool on) noexcept {
        for (const auto& one : all_) one->hold(on);
    }
    void cut() noexcept {
        for (const auto& one : all_) one->cut();
    }

private:
    std::vector<std::unique_ptr<proxy>> all_;
};

}  // namespace tutti::cluster::testing
