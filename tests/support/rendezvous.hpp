// Two transactions that meet inside their bodies, so that each has read before either writes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace tutti::support {

/// Looks until `found`, but only for as long as a busy machine may take to run another thread: an engine that runs one
/// transaction at a time, or makes one wait for the other before its body, never has both at once.
template <class Found>
void look_for(Found&& found) {
    const auto late = std::chrono::steady_clock::now() + std::chrono::milliseconds{50};
    while (!found() && std::chrono::steady_clock::now() < late) std::this_thread::yield();
}

/// Serves one meeting, in the first attempts of both; later attempts pass by.
class rendezvous {
public:
    /// Says that `me`, 0 or 1, is here, and looks for the other.
    void meet(unsigned me) noexcept {
        here_[me].store(true);
        look_for([&] { return here_[1 - me].load(); });
    }
    /// REQUIRES: no thread is in `meet`.
    void reset() noexcept {
        for (auto& one : here_) one.store(false);
    }

private:
    std::array<std::atomic<bool>, 2> here_{};
};

}  // namespace tutti::support
