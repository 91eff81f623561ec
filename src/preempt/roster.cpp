#include "preempt/roster.hpp"

#include <algorithm>
#include <limits>

#include "preempt/context.hpp"

namespace tutti::preempt {

void roster::take(unsigned worker, const context* c, calls& whom) noexcept {
    post& p = posts_[worker];
    p.runs = c;
    p.level = c == nullptr ? -1 : static_cast<int>(c->effective_level());
    p.brief = c != nullptr && c->what.brief;
    weigh(p, whom);
}

void roster::answer(unsigned worker, calls& whom) noexcept {
    // If the call stayed set, the worker would not be called for a new context while it runs one of a lower level.
    posts_[worker].promised = -1;
    spare_no_more(posts_[worker]);
    const std::uint64_t bit = std::uint64_t{1} << worker;
    whom.bells &= ~bit;
    whom.ticks &= ~bit;
}

void roster::change_level(unsigned worker, unsigned level, calls& whom) noexcept {
    posts_[worker].level = static_cast<int>(level);
    weigh(posts_[worker], whom);
}

void roster::weigh(post& which, calls& whom) const noexcept {
    const bool first = which.bound_for() >= first_from_;
    if (first == which.first.load(std::memory_order_relaxed)) return;
    which.first.store(first, std::memory_order_relaxed);
    whom.turns |= bit_of(which);
}

void roster::call(post& which, int level, calls& whom) noexcept {
    (which.level < 0 ? whom.bells : whom.ticks) |= bit_of(which);
    which.promised = level;
    weigh(which, whom);
}

bool roster::call_any(unsigned level, calls& whom, unsigned first, haste how) noexcept {
    const bool prefers = first != nobody && posts_[first].busy_with() < 0;
    post& least = prefers ? posts_[first] : *std::ranges::min_element(posts_, {}, &post::busy_with);
    if (least.busy_with() >= static_cast<int>(level)) return false;
    // With several workers, one becomes free after a part of a call's time. Interrupting another one would gain less,
    // because the objects that it owns would block other contexts.
    post* const soon = how == haste::patient && least.busy_with() >= 0 ? soon_free() : nullptr;
    if (soon != nullptr) spare(*soon, static_cast<int>(level));
    else call(least, static_cast<int>(level), whom);
    return true;
}

roster::post* roster::soon_free() noexcept {
    post* best = nullptr;
    for (post& p : posts_) {
        if (p.brief && p.promised < 0 && (best == nullptr || p.spared < best->spared)) best = &p;
    }
    return best;
}

void roster::spare(post& which, int level) noexcept {
    if (which.spared < 0) ++spared_;
    which.spared = std::max(which.spared, level);
}

bool roster::call_for_late(unsigned level, calls& whom) noexcept {
    post& least = *std::ranges::min_element(posts_, {}, &post::bound_for);
    if (least.bound_for() >= static_cast<int>(level)) return false;
    call(least, static_cast<int>(level), whom);
    spare_no_more(least);
    return true;
}

int roster::least_level() const noexcept {
    int least = std::numeric_limits<int>::max();
    for (const post& p : posts_) {
        if (p.level >= 0) least = std::min(least, p.bound_for());
    }
    return least;
}

void roster::spare_no_more(post& which) noexcept {
    if (which.spared >= 0) --spared_;
    which.spared = -1;
    which.late = false;
}

void roster::call(unsigned worker, int level, calls& whom) noexcept {
    if (posts_[worker].busy_with() < level) call(posts_[worker], level, whom);
}

void roster::nudge_idle(calls& whom) const noexcept {
    for (const post& p : posts_) {
        if (p.busy_with() < 0) whom.nudges |= std::uint64_t{1} << (&p - posts_.data());
    }
}

void roster::ring_any(calls& whom) noexcept {
    const auto idle = std::ranges::find_if(posts_, [](const post& p) { return p.busy_with() < 0; });
    if (idle != posts_.end()) call(*idle, 0, whom);
}

}  // namespace tutti::preempt
