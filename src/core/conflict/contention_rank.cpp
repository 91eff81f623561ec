#include "core/conflict/contention_rank.hpp"

#include <limits>

#include "core/ports/policy.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {
namespace {

constinit detail::shared<std::uint64_t> ages{0};  // 5,845 years at 100 million a second

/// Returns the descriptor whose rank and age d shows: the outermost running one around d.
descriptor& rank_owner(descriptor& d) noexcept {
    descriptor* b = &d;
    while (b->outer != nullptr && b->outer->running()) b = b->outer;
    return *b;
}

}  // namespace

bool is_defeat(abort_cause cause) noexcept {
    switch (cause) {
        case abort_cause::conflict_read_locked:
        case abort_cause::conflict_write_locked:
        case abort_cause::conflict_visible_read:
        case abort_cause::conflict_abstract_lock:
        case abort_cause::validation:
        case abort_cause::read_only_overtaken:
        case abort_cause::snapshot_full:
        case abort_cause::killed: return true;
        default: return false;
    }
}

void announce_rank(descriptor& d, std::int64_t rank) noexcept {
    if (d.run.rank == senior_rank) return;
    d.run.rank = rank;
    show_rank(d);
}

std::uint64_t age_of(descriptor& d) noexcept {
    if (d.run.age == 0) {
        d.run.age = ages.fetch_add(1, std::memory_order_relaxed) + 1;
        show_rank(d);
    }
    return d.run.age;
}

void show_rank(descriptor& d) noexcept {
    const descriptor& whose = rank_owner(d);
    d.age.store(whose.run.age, std::memory_order_relaxed);
    d.rank.store(whose.run.rank, std::memory_order_relaxed);
    if (d.running()) d.slow_commit |= slow_commit_restarted;
}

bool is_older(descriptor& self, const descriptor& other) noexcept {
    const std::uint64_t mine = age_of(rank_owner(self));
    const std::uint64_t theirs = age_shown(other);
    return (theirs == 0 || mine < theirs) != injected(fault::prefer_the_younger);
}

void count_defeat(descriptor& d, abort_cause cause) noexcept {
    if (!is_defeat(cause) || !policy_of(d).bounded) return;
    if (d.run.defeats != std::numeric_limits<std::uint32_t>::max()) ++d.run.defeats;
    if (d.run.defeats >= defeats_to_seniority) {
        announce_rank(d, senior_rank);
        age_of(d);
    }
    // An inner transaction takes no step: it could wait for the slot of a transaction that waits for the outer one. The
    // outer transaction has its own bound.
    if (d.run.defeats >= defeats_to_last_resort && d.run.next_mode != status::irrevocable && !ancestor_runs(d)) {
        d.run.next_mode = status::irrevocable;
        d.run.irrevocable_only_to_commit = true;
        d.run.irrevocable_reason = "restarted too often";
    }
}

void hide_rank(descriptor& d) noexcept {
    d.rank.store(0, std::memory_order_relaxed);
    d.age.store(0, std::memory_order_relaxed);
}

}  // namespace tutti::core
