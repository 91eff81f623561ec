// Lets idle workers serve the connections of an I/O thread (io_ownership.hpp). The executor calls the I/O threads
// through this class, because the executor is created before the I/O threads.
//
// Thread safety: one thread calls `set_threads`, once. Any thread may call the other functions.
#pragma once

#include <atomic>
#include <vector>

#include "server/calls/idle_work.hpp"

namespace tutti::server {

class io_thread;

class worker_io final : public idle_work {
public:
    /// Sets the I/O threads whose connections workers may serve. REQUIRES: the threads live as long as there are
    /// workers.
    void set_threads(std::vector<io_thread*> threads) {
        threads_ = std::move(threads);
        has_threads_.store(true, std::memory_order_release);  // pairs with the load in has_threads
    }
    bool run_idle(const idle_wakeup& of) noexcept override;
    void wake() noexcept override;

private:
    [[nodiscard]] bool has_threads() const noexcept { return has_threads_.load(std::memory_order_acquire); }

    std::atomic<bool> has_threads_{false};
    std::vector<io_thread*> threads_;
};

}  // namespace tutti::server
