// Counts the bytes of requests and answers that the server holds for all clients, against a limit. The limit applies
// only to new calls: no call begins while the budget is used up, but a running call may make an answer of any size.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace tutti::server {

class byte_budget {
public:
    explicit byte_budget(std::size_t limit) noexcept : limit_{limit} {}

    [[nodiscard]] bool is_used_up() const noexcept { return held() > limit_; }
    [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
    void acquire(std::size_t bytes) noexcept { held_.fetch_add(bytes, std::memory_order_relaxed); }
    void release(std::size_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }

private:
    const std::size_t limit_;
    std::atomic<std::size_t> held_{0};
};

/// A part of the budget, which the destructor releases.
class byte_share {
public:
    explicit byte_share(byte_budget& shared_budget) noexcept : budget_{shared_budget} {}
    ~byte_share() { set(0); }
    byte_share(const byte_share&) = delete;
    byte_share& operator=(const byte_share&) = delete;

    void set(std::size_t bytes) noexcept {
        if (bytes > bytes_) budget_.acquire(bytes - bytes_);
        else if (bytes < bytes_) budget_.release(bytes_ - bytes);
        bytes_ = bytes;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] byte_budget& budget() const noexcept { return budget_; }

private:
    byte_budget& budget_;
    std::size_t bytes_ = 0;
};

}  // namespace tutti::server
