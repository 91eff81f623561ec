// Two transactions that meet inside their bodies, so that each has read before either writes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace tutti::support {

/// Waits for an event of another thread, but only as long as a busy machine may need to run that thread. An engine may
/// run one transaction at a time, or make one wait for the other before its body, and then the two never meet. After a
/// few waits without a meeting, further waits are short.
class bounded_wait {
public:
    template <class Found>
    void wait_for(Found&& found) noexcept {
        using std::chrono::steady_clock;
        const auto late = steady_clock::now() + std::chrono::milliseconds{missed_.load() < 4 ? 50 : 1};
        while (!found()) {
            if (steady_clock::now() >= late) {
                missed_.fetch_add(1);
                return;
            }
            std::this_thread::yield();
        }
    }

private:
    std::atomic<int> missed_{0};
};

/// One meeting, in the first attempts of both threads; later attempts pass without waiting.
class meeting_point {
public:
    /// Announces that `me`, 0 or 1, is here, and waits for the other.
    void meet(unsigned me) noexcept {
        here_[me].store(true);
        others_.wait_for([&] { return here_[1 - me].load(); });
    }
    /// REQUIRES: no thread is in `meet`.
    void reset() noexcept {
        for (auto& one : here_) one.store(false);
    }

private:
    bounded_wait others_;
    std::array<std::atomic<bool>, 2> here_{};
};

}  // namespace tutti::support
