#include "policies/trial.hpp"
#include "core/lifecycle/ends.hpp"

#include <algorithm>

namespace tutti::policies {
namespace {

std::int64_t count(base::deadline at) noexcept { return at.time_since_epoch().count(); }

}  // namespace

void contention_intensity::note_defeat(std::uint64_t attempts) noexcept {
    constexpr std::uint64_t most = 1024;
    constexpr std::uint32_t memory = 8;  // the past has a weight of 7/8
    const std::uint32_t before = spacing_.load(std::memory_order_relaxed);
    const auto now = static_cast<std::uint32_t>(std::min(attempts, most)) * unit;
    spacing_.store(before - before / memory + now / memory, std::memory_order_relaxed);
}

bool contention_intensity::is_high() const noexcept {
    constexpr std::uint32_t attempts_a_defeat = 8;
    return spacing_.load(std::memory_order_relaxed) <= attempts_a_defeat * unit;
}

bool trial::may_begin(base::deadline now) const noexcept {
    return is_resting() && count(now) >= due_.load(std::memory_order_relaxed);
}

bool trial::begin(base::deadline now) noexcept {
    if (!changing_.try_lock()) return false;
    const bool mine = may_begin(now);
    if (mine) {
        rounds_won_ = 0;
        proven_ = false;
        enter(phase::unserialised, now, window);
    }
    changing_.unlock();
    return mine;
}

bool trial::count_end(base::deadline now) noexcept {
    ended_.fetch_add(1, std::memory_order_relaxed);
    if (count(now) < due_.load(std::memory_order_relaxed) || !changing_.try_lock()) return false;
    if (!is_resting() && count(now) >= due_.load(std::memory_order_relaxed)) leave_window(now);
    const bool over = is_resting();
    changing_.unlock();
    return over;
}

bool trial::end_if_idle(base::deadline now) noexcept {
    const auto long_ago = now - max_windows * window;
    if (is_resting() || count(long_ago) < due_.load(std::memory_order_relaxed) || !changing_.try_lock()) return false;
    const bool idle = !is_resting() && count(long_ago) >= due_.load(std::memory_order_relaxed);
    if (idle) begin_rest(now);
    changing_.unlock();
    return idle;
}

bool trial::abandon() noexcept {
    const base::lock_guard guard{changing_};
    if (is_resting()) return false;
    begin_rest(base::now());
    return true;
}

void trial::enter(phase next, base::deadline now, std::chrono::nanoseconds lasting) noexcept {
    entered_ = now;
    ended_before_ = ended_.load(std::memory_order_relaxed);
    due_.store(count(now + lasting), std::memory_order_relaxed);
    phase_.store(next, std::memory_order_relaxed);
}

void trial::begin_rest(base::deadline now) noexcept {
    enter(phase::resting, now, rest_);
    rest_ = std::min(2 * rest_, max_rest);
}

/// Decides what follows a window. REQUIRES: the time of the window is over.
void trial::leave_window(base::deadline now) noexcept {
    const phase was = current_phase();
    if (was == phase::serial) {
        rounds_won_ = 0;
        return enter(phase::unserialised, now, window);
    }
    const std::uint64_t ended = ended_.load(std::memory_order_relaxed) - ended_before_;
    const auto time = now - entered_;
    if (ended < min_executions && time < max_windows * window) return;
    const double rate = static_cast<double>(ended) / static_cast<double>(time.count());
    if (was == phase::unserialised) {
        rate_without_ = rate;
        return enter(phase::serialised, now, window);
    }
    if (rate < (proven_ ? 1 : gain) * rate_without_) return begin_rest(now);
    if (++rounds_won_ < rounds) return enter(phase::unserialised, now, window);
    proven_ = true;
    rest_ = min_rest;
    enter(phase::serial, now, term);
}

}  // namespace tutti::policies
