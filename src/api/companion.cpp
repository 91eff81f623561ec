#include "api/companion.hpp"

#include <chrono>

#include "base/futex.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/read_log_predictor.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/critical.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::api {

void require_sound(core::descriptor& d) {
    if (!d.healthy()) core::check_access(d);
}

namespace {

bool is_modest(const core::descriptor& d) noexcept {
    const core::remote_conflict_rules& how = core::policy_of(d).remote;
    return d.outer == nullptr && how.precedence == core::remote_conflict_rules::precedence_rule::none && how.may_wait &&
           how.may_pause && d.run.rank != core::senior_rank;
}

}  // namespace

bool join_attempt(core::descriptor& d, core::data_participant& companion) {
    if (!d.logging) [[unlikely]]
        core::need_reads_for_vote(d);
    core::defer(d, core::deferred::kind::data_participant, static_cast<participant*>(&companion), nullptr);
    return is_modest(d);
}

void begin_step(core::descriptor& d, core::data_participant& companion) {
    core::defer(d, core::deferred::kind::shown, static_cast<participant*>(&companion), nullptr);
}

const detail::frame* way_back(core::descriptor& d, const core::data_participant& companion, std::size_t step,
                              bool empty_handed) noexcept {
    const detail::frame* f = core::rollback_target_before(d, core::index_of_step(d, companion, step));
    while (empty_handed && f != nullptr && f->mark.writes != 0)
        f = f->parent->parent != nullptr ? f->parent : nullptr;  // the outermost block restarts instead
    return f;
}

void rest(core::descriptor& d, const detail::shared<std::uint32_t>& ended, base::deadline until) noexcept {
    if (d.hooks != nullptr && d.hooks->park != nullptr) d.hooks->park(d, ended, until);
    else base::futex_wait(ended.raw(), 0, until);
}

void end_rest(core::descriptor& d, detail::shared<std::uint32_t>& ended) noexcept {
    ended.store(1, std::memory_order_release);
    if (d.hooks != nullptr && d.hooks->park != nullptr) d.hooks->wake(d);
    else base::futex_wake_all(ended.raw());
}

void go_back(core::descriptor& d, const detail::frame& to) {
    core::attempt_roll_back_to(d, to, abort_cause::validation);
}

void go_back_over_reads(core::descriptor& d) { d.algorithm->refresh(d); }

bool reads_stand(core::descriptor& d) {
    // The reads of three kinds of transactions cannot change: irrevocable ones, those that run alone, and those that
    // hold a lock against all commits (norec, from its prepare on).
    return d.algorithm->one_at_a_time || d.is_irrevocable() || d.algorithm_data.holds_lock || d.algorithm->unchanged(d);
}

namespace {

bool owns_what_it_read(const core::descriptor& d) noexcept {
    if (!d.algorithm_data.values.empty()) return false;
    for (const core::orec** r = d.read_begin; r != d.read_next_; ++r) {
        if (!d.owns((*r)->load(std::memory_order_relaxed))) return false;
    }
    return true;
}

}  // namespace

bool is_last_to_vote(const core::descriptor& d, const participant& companion) noexcept {
    const participant* last = nullptr;
    for (const core::deferred& e : d.deferred_log) {
        if (core::votes(e.what)) last = static_cast<const participant*>(e.object);
    }
    return last == &companion;
}

bool protect_reads(core::descriptor& d) noexcept {
    if (d.reads() == 0) return true;
    if (d.algorithm->one_at_a_time || d.cannot_be_killed() || d.algorithm_data.holds_lock || owns_what_it_read(d))
        return true;
    // Marks alone do not suffice: a writer may mistake one for a mark of an attempt that it has killed
    // (time_based.hpp).
    d.run.next_mode = memory::status::irrevocable;
    d.run.irrevocable_only_to_commit = true;
    d.run.irrevocable_reason = "it commits elsewhere what it read here";
    return false;
}

bool is_all_of(const core::descriptor& d) noexcept {
    return d.writes.empty() && d.reads() == 0 && core::count_participants(d) == 1;
}

bool decides_nothing_else(const core::descriptor& d) noexcept {
    return core::count_participants(d) == 1 && !core::has(d, core::deferred::kind::at_commit);
}

std::uint32_t blocks_in_retry() noexcept { return core::count_waiters(); }

contention contention_of(const core::descriptor& d) noexcept {
    const core::descriptor* whose = &d;
    while (whose->outer != nullptr && whose->outer->running()) whose = whose->outer;
    const core::execution& run = whose->run;
    const core::policy& by = core::policy_of(*whose);
    contention c{.how = by.remote, .bounded = by.bounded, .senior = run.rank == core::senior_rank};
    if (c.how.precedence == core::remote_conflict_rules::precedence_rule::priority) c.rank = run.how->priority;
    if (c.how.precedence == core::remote_conflict_rules::precedence_rule::deadline && run.deadline_state.active) {
        // The wall clock is the only clock that machines share, and is accurate enough here.
        const auto due = std::chrono::system_clock::now() + (run.deadline_state.due - base::now());
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(due.time_since_epoch());
        c.rank = core::senior_rank / 2 - since.count();
    }
    return c;
}

void start_over(core::descriptor& d) { core::attempt_abort(d, abort_cause::validation); }

}  // namespace tutti::api
