// Limits how long an operation is tried again, and how often: pauses grow from one to a hundred milliseconds.
#pragma once

#include <algorithm>
#include <chrono>

#include "cluster/backend/runtime_env.hpp"

namespace tutti::cluster::backend {

class backoff_timer {
public:
    using clock = runtime_env::clock;
    explicit backoff_timer(std::chrono::milliseconds timeout, const runtime_env& env = runtime_env::real())
        : env_{env}, deadline_{env.now() + timeout} {}

    [[nodiscard]] clock::time_point deadline() const noexcept { return deadline_; }
    /// Returns the remaining time, but at least one millisecond, because many libraries take zero as unlimited.
    [[nodiscard]] std::chrono::milliseconds remaining() const {
        const auto exact = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - env_.now());
        return std::max(exact, std::chrono::milliseconds{1});
    }
    /// Pauses before the next try. If the time for tries would be over after the pause, returns false without a pause.
    [[nodiscard]] bool wait() {
        return wait([this](std::chrono::milliseconds pause) { env_.pause(pause); });
    }
    /// Pauses by calling `pause_for` with the length of the pause. `pause_for` may return earlier if the wait has
    /// become pointless.
    template <class Pause>
    [[nodiscard]] bool wait(Pause&& pause_for) {
        if (env_.now() + pause_ >= deadline_) return false;
        pause_for(pause_);
        pause_ = std::min(pause_ * 2, std::chrono::milliseconds{100});
        return true;
    }

private:
    const runtime_env& env_;
    const clock::time_point deadline_;
    std::chrono::milliseconds pause_{1};
};

}  // namespace tutti::cluster::backend
