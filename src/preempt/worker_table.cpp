#include "preempt/worker_table.hpp"

#include <algorithm>
#include <limits>

#include "preempt/context.hpp"

namespace tutti::preempt {

void worker_table::set_context(unsigned worker, const context* c, wakeups& to_wake) noexcept {
    worker_state& p = states_[worker];
    p.running = c;
    p.level = c == nullptr ? -1 : static_cast<int>(c->effective_level());
    p.is_short = c != nullptr && c->current_work.is_short;
    update_realtime(p, to_wake);
}

void worker_table::clear_wakeup(unsigned worker, wakeups& to_wake) noexcept {
    // If the wakeup stayed set, the worker would not be woken for a new context while the worker runs a context of a
    // lower level.
    states_[worker].wakeup_level = -1;
    end_skip(states_[worker]);
    const std::uint64_t bit = std::uint64_t{1} << worker;
    to_wake.idle &= ~bit;
    to_wake.busy &= ~bit;
}

void worker_table::change_level(unsigned worker, unsigned level, wakeups& to_wake) noexcept {
    states_[worker].level = static_cast<int>(level);
    update_realtime(states_[worker], to_wake);
}

void worker_table::update_realtime(worker_state& which, wakeups& to_wake) const noexcept {
    const bool first = which.next_level() >= realtime_min_level_;
    if (first == which.is_realtime.load(std::memory_order_relaxed)) return;
    which.is_realtime.store(first, std::memory_order_relaxed);
    to_wake.priority_changes |= bit_of(which);
}

void worker_table::wake_for(worker_state& which, int level, wakeups& to_wake) noexcept {
    (which.level < 0 ? to_wake.idle : to_wake.busy) |= bit_of(which);
    which.wakeup_level = level;
    update_realtime(which, to_wake);
}

bool worker_table::wake_any_for(unsigned level, wakeups& to_wake, unsigned first, urgency how) noexcept {
    const bool prefers = first != no_worker && states_[first].committed_level() < 0;
    worker_state& least =
        prefers ? states_[first] : *std::ranges::min_element(states_, {}, &worker_state::committed_level);
    if (least.committed_level() >= static_cast<int>(level)) return false;
    // With several workers, one of them becomes free after only a part of a call's time. Interrupting a worker saves
    // only this wait, and the objects that the interrupted call owns block other contexts.
    worker_state* const soon = how == urgency::patient && least.committed_level() >= 0 ? skip_candidate() : nullptr;
    if (soon != nullptr) skip_preemption(*soon, static_cast<int>(level));
    else wake_for(least, static_cast<int>(level), to_wake);
    return true;
}

worker_table::worker_state* worker_table::skip_candidate() noexcept {
    worker_state* best = nullptr;
    for (worker_state& p : states_) {
        if (p.is_short && p.wakeup_level < 0 && (best == nullptr || p.skipped_level < best->skipped_level)) best = &p;
    }
    return best;
}

void worker_table::skip_preemption(worker_state& which, int level) noexcept {
    if (which.skipped_level < 0) ++skipped_count_;
    which.skipped_level = std::max(which.skipped_level, level);
}

bool worker_table::preempt_for_overdue(unsigned level, wakeups& to_wake) noexcept {
    worker_state& least = *std::ranges::min_element(states_, {}, &worker_state::next_level);
    if (least.next_level() >= static_cast<int>(level)) return false;
    wake_for(least, static_cast<int>(level), to_wake);
    end_skip(least);
    return true;
}

int worker_table::lowest_busy_level() const noexcept {
    int least = std::numeric_limits<int>::max();
    for (const worker_state& p : states_) {
        if (p.level >= 0) least = std::min(least, p.next_level());
    }
    return least;
}

void worker_table::end_skip(worker_state& which) noexcept {
    if (which.skipped_level >= 0) --skipped_count_;
    which.skipped_level = -1;
    which.seen_skipped = false;
}

void worker_table::wake_for(unsigned worker, int level, wakeups& to_wake) noexcept {
    if (states_[worker].committed_level() < level) wake_for(states_[worker], level, to_wake);
}

void worker_table::wake_if_awake(wakeups& to_wake) const noexcept {
    for (const worker_state& p : states_) {
        if (p.committed_level() < 0) to_wake.idle_awake |= std::uint64_t{1} << (&p - states_.data());
    }
}

void worker_table::wake_any_idle(wakeups& to_wake) noexcept {
    const auto idle = std::ranges::find_if(states_, [](const worker_state& p) { return p.committed_level() < 0; });
    if (idle != states_.end()) wake_for(*idle, 0, to_wake);
}

}  // namespace tutti::preempt
