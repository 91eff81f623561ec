// Lets idle workers take the place of an I/O thread (helm.hpp). The executor, which is created first, calls the I/O
// threads through this class.
//
// Thread safety: one thread calls `open`, once. Any thread calls the rest.
#pragma once

#include <atomic>
#include <vector>

#include "server/calls/idle_work.hpp"

namespace tutti::server {

class io_thread;

class deputies final : public idle_work {
public:
    /// Sets the I/O threads whose place workers may take. REQUIRES: the threads live as long as there are workers.
    void open(std::vector<io_thread*> threads) {
        threads_ = std::move(threads);
        open_.store(true, std::memory_order_release);  // pairs with the load in is_open
    }
    bool spend(const attention& of) noexcept override;
    void recall() noexcept override;

private:
    [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

    std::atomic<bool> open_{false};
    std::vector<io_thread*> threads_;
};

}  // namespace tutti::server
