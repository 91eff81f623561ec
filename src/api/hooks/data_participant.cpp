#include "api/hooks/data_participant.hpp"

#include <chrono>

#include "base/futex.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/critical.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::api {

void require_access(core::descriptor& d) {
    if (!d.healthy()) core::check_access(d);
}

namespace {

bool is_default_contention(const core::descriptor& d) noexcept {
    const core::remote_conflict_rules& rules = core::policy_of(d).remote;
    return d.outer == nullptr && rules.precedence == core::remote_conflict_rules::precedence_rule::none &&
           rules.may_wait && rules.may_pause && d.run.rank != core::senior_rank;
}

}  // namespace

bool join_attempt(core::descriptor& d, core::data_participant& p) {
    if (!d.logging) [[unlikely]]
        core::need_reads_for_vote(d);
    core::defer(d, core::deferred::kind::data_participant, static_cast<participant*>(&p), nullptr);
    return is_default_contention(d);
}

void begin_step(core::descriptor& d, core::data_participant& p) {
    core::defer(d, core::deferred::kind::shown, static_cast<participant*>(&p), nullptr);
}

const detail::frame* rollback_target(core::descriptor& d, const core::data_participant& p, std::size_t step,
                                     bool must_own_nothing) noexcept {
    const detail::frame* f = core::rollback_target_before(d, core::index_of_step(d, p, step));
    while (must_own_nothing && f != nullptr && f->mark.writes != 0)
        f = f->parent->parent != nullptr ? f->parent : nullptr;  // the outermost block is restarted, not rolled back to
    return f;
}

void park(core::descriptor& d, const detail::shared<std::uint32_t>& ended, base::deadline until) noexcept {
    if (d.hooks != nullptr && d.hooks->park != nullptr) d.hooks->park(d, ended, until);
    else base::futex_wait(ended.raw(), 0, until);
}

void unpark(core::descriptor& d, detail::shared<std::uint32_t>& ended) noexcept {
    ended.store(1, std::memory_order_release);
    if (d.hooks != nullptr && d.hooks->park != nullptr) d.hooks->wake(d);
    else base::futex_wake_all(ended.raw());
}

void roll_back_to(core::descriptor& d, const detail::frame& to) {
    core::attempt_roll_back_to(d, to, abort_cause::validation);
}

void roll_back_to_valid_reads(core::descriptor& d) { d.algorithm->refresh(d); }

bool reads_are_valid(core::descriptor& d) {
    // In three cases, no other transaction can change the values that d has read: d is irrevocable, d runs alone, or d
    // holds a lock that keeps out all commits (norec, after its prepare).
    return d.algorithm->one_at_a_time || d.is_irrevocable() || d.algorithm_data.holds_lock || d.algorithm->unchanged(d);
}

namespace {

bool owns_all_reads(const core::descriptor& d) noexcept {
    if (!d.algorithm_data.values.empty()) return false;
    for (const core::orec** r = d.read_begin; r != d.read_next_; ++r) {
        if (!d.owns((*r)->load(std::memory_order_relaxed))) return false;
    }
    return true;
}

}  // namespace

bool is_last_to_vote(const core::descriptor& d, const participant& p) noexcept {
    const participant* last = nullptr;
    for (const core::deferred& e : d.deferred_log) {
        if (core::votes(e.what)) last = static_cast<const participant*>(e.object);
    }
    return last == &p;
}

bool lock_reads(core::descriptor& d) noexcept {
    if (d.reads() == 0) return true;
    if (d.algorithm->one_at_a_time || d.cannot_be_killed() || d.algorithm_data.holds_lock || owns_all_reads(d))
        return true;
    // Marks alone do not suffice, because a writer may mistake a mark of d for the mark of an attempt that the writer
    // has killed (time_based.hpp).
    d.run.next_mode = memory::status::irrevocable;
    d.run.irrevocable_only_to_commit = true;
    d.run.irrevocable_reason = "it commits elsewhere what it read here";
    return false;
}

bool is_sole_participant(const core::descriptor& d) noexcept {
    return d.writes.empty() && d.reads() == 0 && core::count_participants(d) == 1;
}

bool is_sole_voter(const core::descriptor& d) noexcept {
    return core::count_participants(d) == 1 && !core::has(d, core::deferred::kind::at_commit);
}

std::uint32_t blocks_in_retry() noexcept { return core::count_waiters(); }

remote_contention remote_contention_of(const core::descriptor& d) noexcept {
    const core::descriptor* root = &d;
    while (root->outer != nullptr && root->outer->running()) root = root->outer;
    const core::execution& run = root->run;
    const core::policy& chosen = core::policy_of(*root);
    remote_contention c{.rules = chosen.remote, .bounded = chosen.bounded, .senior = run.rank == core::senior_rank};
    if (c.rules.precedence == core::remote_conflict_rules::precedence_rule::priority) c.rank = run.how->priority;
    if (c.rules.precedence == core::remote_conflict_rules::precedence_rule::deadline && run.deadline_state.active) {
        // The deadline is converted to the wall clock, the only clock that machines share, which is accurate enough
        // here.
        const auto due = std::chrono::system_clock::now() + (run.deadline_state.due - base::now());
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(due.time_since_epoch());
        c.rank = core::senior_rank / 2 - since.count();
    }
    return c;
}

void restart_attempt(core::descriptor& d) { core::attempt_abort(d, abort_cause::validation); }

}  // namespace tutti::api
