// Two transactions that meet inside their bodies, so that each has read before either writes.
#pragma once

#include <array>
#include <atomic>
#include <thread>

namespace tutti::support {

/// Serves one meeting, in the first attempts of both; later attempts pass by.
class rendezvous {
public:
    /// Says that `me`, 0 or 1, is here, and looks for the other. It gives up after a while, because an engine that runs
    /// one transaction at a time, or makes one wait for the other before its body, never has both here.
    void meet(unsigned me) noexcept {
        here_[me].store(true);
        for (int look = 0; look < looks && !here_[1 - me].load(); ++look) std::this_thread::yield();
    }
    /// REQUIRES: no thread is in `meet`.
    void reset() noexcept {
        for (auto& one : here_) one.store(false);
    }

private:
    static constexpr int looks = 4000;

    std::array<std::atomic<bool>, 2> here_{};
};

}  // namespace tutti::support
