#include "core/modes/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/conflict/contention_rank.hpp"
#include "core/modes/mode_switch.hpp"
#include "core/modes/site_times.hpp"
#include "core/ports/deadline_schedule.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/critical.hpp"

namespace tutti::core {
namespace {

using std::chrono::nanoseconds;

constexpr unsigned max_samples = 4096;
constexpr const char* irrevocability_reason = "deadline";
constexpr deadline_tuning default_tuning{};

const deadline_tuning& tuning_of(const descriptor& d) noexcept {
    const deadline_tuning* const given = d.run.how->tuning;
    return given != nullptr ? *given : default_tuning;
}

deadline_schedule plan_of(const descriptor& d) noexcept {
    const timing& t = d.run.deadline_state;
    const double share = t.site->rolled_back();
    return schedule_of(t.due,
                       {.expected = t.expected,
                        .visible = t.site->durations_in(status::visible),
                        .irrevocable = t.site->durations_in(status::irrevocable),
                        .rollbacks_per_commit = share / (1 - share),
                        .rolled_back = t.rolled_back,
                        .planned = t.planned},
                       tuning_of(d));
}

void check(const options& how, const deadline_tuning& tuning) {
    if (how.deadline.value() < nanoseconds::zero()) {
        throw usage_error{"tutti: options::deadline is negative; give the time that the block has, or a point in time"};
    }
    if (!(how.qos > 0 && how.qos < 1)) {
        throw usage_error{
            "tutti: options::qos is not between 0 and 1; it is the share of executions that should meet the deadline, "
            "0.99 for all but one in a hundred"};
    }
    if (!(tuning.irrevocable_factor >= 1 && tuning.visible_factor >= tuning.irrevocable_factor &&
          std::isfinite(tuning.visible_factor))) {
        throw usage_error{
            "tutti: deadline_tuning needs visible_factor >= irrevocable_factor >= 1: reads turn visible first, and an "
            "irrevocable attempt takes its time, too"};
    }
    if (tuning.samples < 1 || tuning.samples > max_samples) {
        throw usage_error{"tutti: deadline_tuning::samples is not between 1 and 4096"};
    }
}

base::deadline due_of(const deadline& given) noexcept {
    if (given.is_absolute()) return base::deadline{given.value()};
    const base::deadline now = base::now();
    return given.value() < base::deadline::max() - now ? now + given.value() : base::deadline::max();
}

/// Returns true if the deadline may make d stricter. An execution inside another transaction must not become stricter,
/// because it would wait for a slot while the transaction around it may own something.
bool may_become_stricter(const descriptor& d) noexcept { return !ancestor_runs(d); }

/// Returns the strictest mode that the deadline may request.
status strictest(const descriptor& d) noexcept {
    return d.run.deadline_state.nests_openly ? status::visible : status::irrevocable;
}

void request_mode(descriptor& d, status wanted) noexcept {
    wanted = std::min(wanted, strictest(d));
    if (wanted <= d.run.next_mode) return;
    if (d.run.next_mode == status::active) d.run.deadline_state.made_visible = true;
    d.run.next_mode = wanted;
    if (wanted != status::irrevocable) return;
    d.run.deadline_state.made_irrevocable = true;
    d.run.irrevocable_only_to_commit = true;
    d.run.irrevocable_reason = irrevocability_reason;
}

/// Returns when an attempt that runs in `mode` has to become stricter. An optimistic attempt without a stricter mode
/// ahead checks again when its deadline can no longer be met. REQUIRES: at `now` the deadline can be met.
base::deadline check_time_of(const descriptor& d, const deadline_schedule& plan, status mode,
                             base::deadline now) noexcept {
    if (mode >= strictest(d)) return base::deadline::max();
    const base::deadline next =
        d.run.deadline_state.may_be_strict ? plan.next_switch_after(mode) : base::deadline::max();
    if (mode != status::active) return next > now ? next : base::deadline::max();
    const base::deadline hopeless_from = std::min(plan.latest_start + nanoseconds{1}, d.run.deadline_state.due);
    return next > now ? std::min(next, hopeless_from) : hopeless_from;
}

/// Requests `wanted` as the mode of the next attempt, because the schedule demands that mode.
void make_stricter_by_schedule(descriptor& d, status wanted) noexcept {
    timing& t = d.run.deadline_state;
    t.needed_strict |= std::min(wanted, strictest(d)) > d.run.next_mode;
    if (t.may_be_strict) request_mode(d, wanted);
}

/// Reports to the trial that the execution has ended or was refused. Executions that ignore measurements are not
/// reported.
void count_for_trial(descriptor& d, bool met) noexcept {
    timing& t = d.run.deadline_state;
    if (!uses_factors_only(tuning_of(d))) t.site->trial.leave({t.may_be_strict, t.term}, met, t.needed_strict);
}

/// Handles a deadline that cannot be met.
void handle_hopeless_deadline(descriptor& d, base::deadline now) {
    timing& t = d.run.deadline_state;
    t.next_check = base::deadline::max();
    switch (d.run.how->when_missed) {
        case missed_deadline::run_anyway:
            // A late block must not starve. So after a roll-back it becomes visible, and conflicting writers wait for
            // it.
            if (d.run.attempt > 1 && may_become_stricter(d)) request_mode(d, status::visible);
            return;
        case missed_deadline::run_irrevocable:
            if (may_become_stricter(d)) request_mode(d, status::irrevocable);
            return;
        case missed_deadline::refuse: break;
    }
    in_critical_region(d, [&] {
        if (now < t.due) t.site->note_denied(t.requested);
        count_for_trial(d, false);
    });
    if (observe::counting_in_library()) d.counters.count_refusal(d.run.block());
    throw deadline_missed{};
}

/// Updates the estimates of this execution and its site after an attempt that was rolled back. The duration of such an
/// attempt is only a lower bound. The lower bound counts at sites without a sample, because such sites might never get
/// a sample under permanent conflicts.
void learn_from_failure(descriptor& d, base::deadline now) noexcept {
    timing& t = d.run.deadline_state;
    if (d.run.attempt == 1 || d.run.last_cause == abort_cause::explicit_retry) return;
    if (!t.sampled) t.expected = std::max(t.expected, now - t.began);
    if (!is_defeat(d.run.last_cause) && d.run.last_cause != abort_cause::explicit_restart) return;
    t.rolled_back = true;
    if (t.began_in == status::active) t.site->note_attempt(true);
}

void learn_from_commit(descriptor& d, base::deadline now, bool met) noexcept {
    timing& t = d.run.deadline_state;
    count_for_trial(d, met);
    // Ignores an attempt that ran partly in another mode.
    if (d.mode != t.began_in) return;
    if (d.mode == status::active) t.site->note_attempt(false);
    // Excludes attempts that were visibly disturbed: by a move to another core, or by a switch of a preemption layer.
    // Other disturbances cannot be distinguished from work: interrupts, page faults, a time slice that ends and begins
    // again on the same core, and waits in place for other transactions.
    if (t.core != base::core_number() || t.suspensions != d.suspensions) return;
    t.site->note_commit(d.mode, now - (d.mode == status::active ? t.began : t.planned), d.run.how->qos);
}

}  // namespace

void begin_timed(descriptor& d) {
    const options& how = *d.run.how;
    const deadline_tuning& tuning = tuning_of(d);
    check(how, tuning);
    if (how.outcome != nullptr) *how.outcome = {};
    timing& t = d.run.deadline_state;
    t.active = true;
    t.requested = d.run.next_mode;
    t.due = due_of(how.deadline);
    in_critical_region(d, [&] {
        t.site = &times_of(observe::site_of(d.run.where, how.name), tuning.samples);
        t.expected = t.site->expected_in(t.requested, how.qos);
        const strictness_trial::ticket given = t.site->trial.enter();
        t.may_be_strict = given.may_be_strict || uses_factors_only(tuning);
        t.term = given.number;
    });
    t.sampled = t.expected > nanoseconds::zero();
}

void plan_attempt(descriptor& d) {
    timing& t = d.run.deadline_state;
    const base::deadline now = base::now();
    learn_from_failure(d, now);
    t.planned = now;
    const deadline_schedule plan = plan_of(d);
    if (plan.cannot_meet_after(now, t.due)) return handle_hopeless_deadline(d, now);
    if (!may_become_stricter(d)) return;
    if (const status m = plan.too_slow_at(now); m != status::active && !std::exchange(t.was_denied_mode, true)) {
        in_critical_region(d, [&] { t.site->note_denied(m); });
    }
    make_stricter_by_schedule(d, plan.mode_at(now));
    t.next_check = check_time_of(d, plan, d.run.next_mode, now);
}

void keep_nesting_open(descriptor& d) {
    timing& t = d.run.deadline_state;
    if (!t.active || t.nests_openly) return;
    t.nests_openly = true;
    if (d.run.next_mode == status::visible) t.next_check = base::deadline::max();
    if (!t.made_irrevocable) return;
    t.made_irrevocable = false;
    d.run.next_mode = status::visible;
    d.run.irrevocable_only_to_commit = false;
    d.run.irrevocable_reason = nullptr;
    if (d.is_irrevocable()) attempt_abort(d, abort_cause::mode_switch);
}

void note_requested_mode(descriptor& d, status wanted) noexcept {
    d.run.deadline_state.made_visible = false;
    if (wanted == status::irrevocable) d.run.deadline_state.made_irrevocable = false;
}

void note_attempt_start(descriptor& d) noexcept {
    timing& t = d.run.deadline_state;
    d.slow_commit |= slow_commit_restarted;  // the end of the attempt has to update the estimates, and to reset `run`
    if (d.mode == status::active && !d.strict() && d.logging && t.next_check != base::deadline::max())
        d.slow_path |= slow_path_timed;
    t.began_in = d.mode;
    t.core = base::core_number();
    t.suspensions = d.suspensions;
    t.began = base::now();
}

void check_deadline(descriptor& d) {
    timing& t = d.run.deadline_state;
    const base::deadline now = base::now();
    if (now < t.next_check) return;
    const deadline_schedule plan = plan_of(d);
    const bool cannot_meet = plan.cannot_meet_after(now, t.due);
    if (cannot_meet && d.run.how->when_missed == missed_deadline::run_anyway) t.next_check = base::deadline::max();
    // A strict attempt needs no more checks, because its body has requested that mode itself. An attempt that cannot
    // meet its deadline needs none either: it may be about to commit, and starting over would not help.
    if (d.strict() || cannot_meet) {
        d.slow_path &= ~slow_path_timed;
        return;
    }
    const status before = d.run.next_mode;
    request_mode(d, plan.mode_at(now));
    const status wanted = d.run.next_mode;
    if (wanted == before) {
        t.next_check = check_time_of(d, plan, before, now);
        return;
    }
    if (!try_become_strict(d, wanted, abort_cause::mode_switch)) {
        // The attempt continues, because its work so far is worth more than an earlier slot. It tries again at its next
        // barrier.
        d.run.next_mode = before;
        d.run.irrevocable_only_to_commit = false;
        t.made_visible = t.made_irrevocable = false;
        return;
    }
    d.slow_path &= ~slow_path_timed;
    t.needed_strict = true;
    t.next_check = check_time_of(d, plan, wanted, now);
    if (wanted == status::irrevocable && (d.slow_commit & slow_commit_counting) != 0)
        d.counters.count_irrevocable(d.run.block(), irrevocability_reason);
}

void end_timed(descriptor& d) noexcept {
    timing& t = d.run.deadline_state;
    const base::deadline now = base::now();
    const bool met = now <= t.due;
    const auto mode_of = [](status s) {
        if (s == status::irrevocable) return mode::irrevocable;
        return s == status::visible ? mode::visible : mode::optimistic;
    };
    const mode committed_in = mode_of(d.mode);
    if (deadline_outcome* const outcome = d.run.how->outcome) *outcome = {true, met, committed_in, t.due - now};
    if ((d.slow_commit & slow_commit_counting) != 0) d.counters.count_deadline(d.run.block(), committed_in, met);
    in_critical_region(d, [&] { learn_from_commit(d, now, met); });
}

std::optional<base::deadline> retry_limit(const descriptor& d) noexcept {
    const std::optional<base::deadline> given = d.run.retry_until;
    if (!d.run.deadline_state.active || d.run.how->when_missed != missed_deadline::refuse) return given;
    const base::deadline latest = plan_of(d).latest_start;
    return given ? std::min(*given, latest) : latest;
}

}  // namespace tutti::core
