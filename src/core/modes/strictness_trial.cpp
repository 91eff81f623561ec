#include "core/modes/strictness_trial.hpp"

#include <algorithm>

namespace tutti::core {

strictness_trial::ticket strictness_trial::enter() noexcept {
    const base::lock_guard guard{lock_};
    return {strict_, number_};
}

void strictness_trial::leave(ticket given, bool met, bool wanted) noexcept {
    const base::lock_guard guard{lock_};
    if (given.number != number_) return;
    wanted_ |= wanted;
    ++ended_;
    missed_ += met ? 0 : 1;
    if (trial_running_) {
        const bool lost = strict_ ? missed_ >= allowed_ : missed_ > allowed_;
        if (lost || ended_ == window) end_trial(!lost);
    } else if (ended_ == window) {
        end_window();
    }
}

void strictness_trial::begin_term(std::uint32_t windows) noexcept {
    ++number_;
    trial_running_ = wanted_ = false;
    ended_ = missed_ = windows_ = sum_ = 0;
    term_ = windows;
}

void strictness_trial::begin_trial(std::uint32_t allowed) noexcept {
    ++number_;
    trial_running_ = true;
    strict_ = !strict_;
    ended_ = missed_ = 0;
    allowed_ = allowed;
}

void strictness_trial::end_trial(bool won) noexcept {
    if (won) return begin_term(min_term);
    strict_ = !strict_;
    begin_term(std::clamp(2 * term_, min_term, max_term));
}

void strictness_trial::end_window() noexcept {
    constexpr std::uint32_t bad_luck = 8;
    const bool worse = windows_ != 0 && missed_ > 2 * (sum_ / windows_) + bad_luck;
    sum_ += missed_;
    ++windows_;
    const std::uint32_t average = worse ? missed_ : sum_ / windows_;
    ended_ = missed_ = 0;
    if (!worse && windows_ < term_) return;
    // No trial is needed if no deadlines were missed, because strictness cannot lower that number.
    if (!wanted_ || (!strict_ && average == 0)) return begin_term(term_);
    if (worse) term_ = 1;
    begin_trial(average);
}

}  // namespace tutti::core
