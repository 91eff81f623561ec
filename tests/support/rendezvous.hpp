// Two transactions that meet inside their bodies, so that each has read before either writes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace tutti::support {

/// Looks for what another thread does, but only for as long as a busy machine may take to run it: an engine that runs
/// one transaction at a time, or makes one wait for the other before its body, never has both at once. After a few
/// looks in vain the others are short.
class lookout {
public:
    template <class Found>
    void look_for(Found&& found) noexcept {
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

/// Serves one meeting, in the first attempts of both; later attempts pass by.
class rendezvous {
public:
    /// Says that `me`, 0 or 1, is here, and looks for the other.
    void meet(unsigned me) noexcept {
        here_[me].store(true);
        others_.look_for([&] { return here_[1 - me].load(); });
    }
    /// REQUIRES: no thread is in `meet`.
    void reset() noexcept {
        for (auto& one : here_) one.store(false);
    }

private:
    lookout others_;
    std::array<std::atomic<bool>, 2> here_{};
};

}  // namespace tutti::support
