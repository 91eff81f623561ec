// Limits how long an operation is tried again, and how often: pauses grow from one to a hundred milliseconds.
#pragma once

#include <algorithm>
#include <chrono>

#include "cluster/backend/surroundings.hpp"

namespace tutti::cluster::backend {

class tries {
public:
    using clock = surroundings::clock;
    explicit tries(std::chrono::milliseconds patience, const surroundings& by = surroundings::real())
        : by_{by}, late_{by.now() + patience} {}

    [[nodiscard]] clock::time_point late() const noexcept { return late_; }
    /// Returns the remaining time, at least one millisecond: many libraries take zero as unlimited.
    [[nodiscard]] std::chrono::milliseconds left() const {
        const auto exact = std::chrono::ceil<std::chrono::milliseconds>(late_ - by_.now());
        return std::max(exact, std::chrono::milliseconds{1});
    }
    /// Pauses before the next try. Returns false if the time is over by then.
    [[nodiscard]] bool again() {
        return again([this](std::chrono::milliseconds pause) { by_.pause(pause); });
    }
    /// Pauses by calling `wait` with the length of the pause. `wait` may return earlier if the wait has become
    /// pointless.
    template <class Wait>
    [[nodiscard]] bool again(Wait&& wait) {
        if (by_.now() + pause_ >= late_) return false;
        wait(pause_);
        pause_ = std::min(pause_ * 2, std::chrono::milliseconds{100});
        return true;
    }

private:
    const surroundings& by_;
    const clock::time_point late_;
    std::chrono::milliseconds pause_{1};
};

}  // namespace tutti::cluster::backend
