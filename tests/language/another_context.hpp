// A second thread beside the one under test.
#pragma once

#include <atomic>
#include <thread>

/// A thread that has run a block. While it lives, other threads begin their blocks as if it might run another one, for
/// at least some thousands of blocks.
class another_context {
public:
    template <class Block>
    explicit another_context(Block run) {
        thread_ = std::thread{[this, run] {
            run();
            ready_ = true;
            ready_.notify_one();
            done_.wait(false);
        }};
        ready_.wait(false);
    }
    ~another_context() {
        done_ = true;
        done_.notify_one();
        thread_.join();
    }
    another_context(const another_context&) = delete;
    another_context& operator=(const another_context&) = delete;

private:
    std::atomic<bool> ready_{false};
    std::atomic<bool> done_{false};
    std::thread thread_;
};
