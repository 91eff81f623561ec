// Workers that have nothing to run, and take an I/O thread's place meanwhile (helm.hpp): the way from the executor,
// which is there first, to the I/O threads.
//
// Thread safety: `open` by one thread, once; the rest from any.
#pragma once

#include <atomic>
#include <vector>

#include "server/calls/idle_work.hpp"

namespace tutti::server {

class io_thread;

class deputies final : public idle_work {
public:
    /// Those whose place may be taken. They have to stay as long as there are workers.
    void open(std::vector<io_thread*> threads) {
        threads_ = std::move(threads);
        open_.store(true, std::memory_order_release);  // partner: the load in is_open
    }
    bool spend(const attention& of) noexcept override;
    void recall() noexcept override;

private:
    [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

    std::atomic<bool> open_{false};
    std::vector<io_thread*> threads_;
};

}  // namespace tutti::server
