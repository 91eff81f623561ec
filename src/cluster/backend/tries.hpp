// How long something is tried again, and how soon: pauses grow from one to a hundred milliseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tutti::cluster::backend {

class tries {
public:
    using clock = std::chrono::steady_clock;
    explicit tries(std::chrono::milliseconds patience) : late_{clock::now() + patience} {}

    [[nodiscard]] clock::time_point late() const noexcept { return late_; }
    /// At least a millisecond: to many a library, none means for ever.
    [[nodiscard]] std::chrono::milliseconds left() const {
        const auto exact = std::chrono::ceil<std::chrono::milliseconds>(late_ - clock::now());
        return std::max(exact, std::chrono::milliseconds{1});
    }
    /// Pauses before the next one. False: its time would be over.
    [[nodiscard]] bool again() {
        if (clock::now() + pause_ >= late_) return false;
        std::this_thread::sleep_for(pause_);
        pause_ = std::min(pause_ * 2, std::chrono::milliseconds{100});
        return true;
    }

private:
    const clock::time_point late_;
    std::chrono::milliseconds pause_{1};
};

}  // namespace tutti::cluster::backend
