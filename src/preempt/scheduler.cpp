#include "preempt/scheduler.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/futex.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/registry.hpp"

namespace tutti::preempt {
namespace {

const options& checked(const options& how) {
    if (how.workers == 0 || how.workers > most_workers) throw std::invalid_argument{"tutti: workers: 1 to 64"};
    if (how.contexts < how.workers) throw std::invalid_argument{"tutti: fewer contexts than workers"};
    if (how.highest_level >= most_levels) throw std::invalid_argument{"tutti: highest_level: 0 to 63"};
    if (how.migrate && how.shared_thread_locals) {
        throw std::invalid_argument{
            "tutti: contexts that migrate need thread-local storage of their own: give no shared_thread_locals "
            "(--shared-thread-locals)"};
    }
    if (how.migrate && !tls_block::available()) {
        throw std::invalid_argument{
            "tutti: contexts cannot migrate here: processor, kernel or a sanitizer does not let a program set the base "
            "of FS"};
    }
    return how;
}

/// Contexts for the running work, and for the work that it has interrupted at several levels. On a busy machine a
/// thread may take milliseconds to start.
constexpr unsigned contexts_prepared_per_worker = 4;

void put(context*& on, context& c) noexcept {
    c.next = on;
    on = &c;
}

context& take_first(context*& of) noexcept {
    context& first = *of;
    of = static_cast<context*>(first.next);
    return first;
}

}  // namespace

scheduler::scheduler(const options& how)
    : how_{checked(how)},
      source_{choose_tick_source(how.ticks)},
      separates_thread_locals_{!how.shared_thread_locals && tls_block::available()},
      application_{source_.allow, source_.preempts},
      ready_{how.workers, how.highest_level, how.promote, how.migrate},
      roster_{how.workers, how.realtime_from} {
    contexts_.reserve(how_.contexts);
    parked_.reserve(how_.contexts);
    for (unsigned i = 0; i < how_.contexts; ++i) add_context();
    prepare_thread_locals();
    for (unsigned i = 0; i < how_.workers; ++i) workers_.push_back(std::make_unique<worker>(*this, i));
    open_seam();
    try {
        for (auto& w : workers_) w->start();
    } catch (...) {
        end_workers();
        throw;
    }
}

scheduler::~scheduler() { stop(); }

context* scheduler::current() noexcept {
    const worker* const w = worker::current();
    return w == nullptr ? nullptr : w->running();
}

const void* scheduler::argument_here() noexcept {
    const context* const c = current();
    return c == nullptr ? nullptr : c->what.argument;
}

/// Prepares blocks for some contexts. The others get theirs when they begin (worker::enter), which costs their worker
/// the start of a thread.
void scheduler::prepare_thread_locals() {
    if (!separates_thread_locals_) return;
    unsigned left = std::min(how_.contexts, contexts_prepared_per_worker * how_.workers);
    for (auto* c = pooled_; c != nullptr && left != 0; c = static_cast<context*>(c->next), --left) c->block.emplace();
}

void scheduler::equip(context& c) {
    if (c.descriptor != nullptr) return;
    c.descriptor = &core::acquire_descriptor();
    connect(c);
}

/// Returns the number of the calling worker if it runs no context.
unsigned scheduler::idler() const noexcept {
    const worker* const w = worker::current();
    return w != nullptr && w->running() == nullptr ? w->number() : roster::nobody;
}

std::span<work> scheduler::submit(std::span<work> several, unsigned most_calls) noexcept {
    calls whom;
    unsigned first = idler();
    std::size_t away = 0;
    arrivals admitted;
    const haste how = std::ranges::all_of(several, &work::patient) ? haste::patient : haste::urgent;
    {
        const short_guard guard{lock_};
        for (const work& w : several) {
            if (const std::optional<work> other = accept(w, admitted)) several[away++] = *other;
        }
        for (std::uint64_t left = admitted.levels; left != 0;) {
            const auto level = static_cast<unsigned>(std::bit_width(left)) - 1;
            left ^= std::uint64_t{1} << level;
            unsigned n = std::min(admitted.at[level], how_.workers);
            for (; n != 0 && most_calls != 0; --n, --most_calls)
                roster_.call_any(level, whom, std::exchange(first, roster::nobody), how);
            if (n != 0) roster_.nudge_idle(whom);
        }
        if (roster_.spares()) spares_.store(true, std::memory_order_relaxed);
    }
    deliver(whom);
    // If a procedure submits the work, its own context may have to give way.
    if (detail::current_transaction != nullptr && current() != nullptr) {
        core::descriptor& d = core::descriptor::of(*detail::current_transaction);
        if (d.critical_depth.load(std::memory_order_relaxed) == 0) core::serve_pending_tick(d);
    }
    return several.first(away);
}

void scheduler::tick_the_late() noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        roster_.look_at_the_spared(whom, ready_.highest_standing(),
                                   [this](unsigned worker) { return ready_.highest_active(worker); });
        for (unsigned level = how_.highest_level + 1; level-- != 0;) {
            unsigned n = ready_.standing_since(level, seen_late_, how_.workers);
            while (n != 0 && roster_.call_for_late(level, whom)) --n;
            if (n != 0) break;
        }
        seen_late_ = counts_.accepted;
        const bool keeps_waiting = ready_.highest_standing() > roster_.least_level();
        spares_.store(roster_.spares() || keeps_waiting, std::memory_order_relaxed);
    }
    deliver(whom);
}

void scheduler::rouse() noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        for (unsigned level = how_.highest_level + 1; level-- != 0;) {
            for (auto n = std::min<std::size_t>(ready_.standing(level), how_.workers); n != 0; --n)
                roster_.call_any(level, whom);
        }
        if (whom.bells == 0) roster_.ring_any(whom);
    }
    deliver(whom);
}

std::optional<work> scheduler::accept(const work& w, arrivals& now) noexcept {
    const unsigned level = std::min(w.priority, how_.highest_level);
    const bool full = ready_.standing() + outstanding_ - places_taken_ >= how_.waiting;
    try {
        if ((!full || gives_way_to(level)) && (!stopping_ || current() != nullptr)) {
            backlog::item item{w, base::ticks(), counts_.accepted};
            item.what.priority = level;
            take_in(item, now);
            if (!full) return std::nullopt;
            return shed_for(level);
        }
    } catch (const std::exception&) {
        // There is no memory, which the caller sees as no room.
    }
    ++counts_.refused;
    return w;
}

void scheduler::take_in(const backlog::item& w, arrivals& now) {
    if (context* const c = context_for(w.what.priority)) {
        admit(*c, w);
        ++now.at[c->level];
        now.levels |= std::uint64_t{1} << c->level;
    } else {
        backlog_.push(w);
    }
    ++outstanding_;
    ++counts_.accepted;
}

bool scheduler::gives_way_to(unsigned level) const noexcept {
    const bool without_a_place = !backlog_.empty() && backlog_.lowest() < level;
    return how_.sheds && (without_a_place || ready_.last_below(level) != nullptr);
}

work scheduler::shed_for(unsigned level) noexcept {
    // Work that waits for a place comes after standing contexts of the same level: see context_for.
    context* const last = ready_.last_below(backlog_.empty() ? level : std::min(level, backlog_.lowest()));
    const work away = last != nullptr ? last->what : backlog_.pop_last().what;
    if (last != nullptr) {
        withdraw(*last);
        last->state = condition::pooled;
        put(pooled_, *last);
    }
    --outstanding_;
    ++counts_.shed[away.priority];
    return away;
}

context* scheduler::context_for(unsigned level) {
    if (context* const c = free_context()) return c;
    // Takes the context of work that has not begun, because such work does not need one yet. Otherwise many works of
    // the lowest level would keep the highest level from preempting.
    context* const last = ready_.last_below(level);
    if (last == nullptr) return nullptr;
    backlog_.push({last->what, last->arrived, last->order});
    withdraw(*last);
    return last;
}

void scheduler::withdraw(context& c) noexcept {
    ready_.withdraw(c);
    give_place_up(c);
}

context* scheduler::free_context() {
    if (places_taken_ == how_.contexts) return nullptr;
    if (pooled_ == nullptr && warm_ != nullptr) put(pooled_, take_first(warm_));
    if (pooled_ == nullptr) add_context();  // all others have contexts without a place
    equip(*pooled_);
    return &take_first(pooled_);
}

/// Moves work that has not begun to the most recently used context, if one is free. So calls that do not interrupt each
/// other run on one stack and with the logs of one transaction. These stay in the cache, however many calls wait.
context& scheduler::warmer(context& c) noexcept {
    if (warm_ == nullptr) return c;
    context& used = take_first(warm_);
    used.what = c.what;
    used.arrived = c.arrived;
    used.order = c.order;
    used.due = c.due;
    used.level = c.level;
    used.preemptions = used.lent = 0;
    used.begun = false;
    used.has_place = std::exchange(c.has_place, false);
    used.state = std::exchange(c.state, condition::pooled);
    put(pooled_, c);
    return used;
}

void scheduler::add_context() {
    if (parked_.capacity() == contexts_.size()) parked_.reserve(2 * contexts_.size());  // room for all contexts
    contexts_.push_back(std::make_unique<context>(how_.stack_bytes));
    put(pooled_, *contexts_.back());
}

void scheduler::give_place_up(context& c) noexcept {
    if (std::exchange(c.has_place, false)) --places_taken_;
}

void scheduler::admit_another() noexcept {
    if (backlog_.empty()) return;
    try {
        if (context* const c = free_context()) admit_unannounced(*c);
    } catch (const std::exception&) {
        // There is no memory: the work continues to wait until a context becomes free.
    }
}

void scheduler::admit(context& c, const backlog::item& w) noexcept {
    c.has_place = true;
    ++places_taken_;
    c.what = w.what;
    c.arrived = w.arrived;
    c.order = w.order;
    c.home = nullptr;
    c.begun = false;
    ready_.admit(c);
}

void scheduler::admit_unannounced(context& c) noexcept {
    admit(c, backlog_.pop());
    unannounced_ = true;
}

void scheduler::recycle(context& c) noexcept {
    c.over = c.visitors != 0;
    if (c.over) return;
    core::forget_interruption(*c.descriptor);
    c.overrun = false;
    c.steps = {};
    c.doomed.store(false, std::memory_order_relaxed);
    c.room.close();
    ++counts_.finished;
    give_place_up(c);
    if (backlog_.empty() || places_taken_ == how_.contexts) {
        c.state = condition::pooled;
        put(warm_, c);
    } else {
        admit_unannounced(c);
    }
    if (--outstanding_ == 0 && draining_ != 0) {
        drained_.fetch_add(1, std::memory_order_release);
        base::futex_wake_all(drained_);
    }
}

void scheduler::forget_interruption() noexcept { core::forget_interruption(*current()->descriptor); }

/// Calls a worker for a standing context, because started contexts of the same level come first and may keep the caller
/// busy forever. Calls one at a time: the worker that comes for it announces the rest.
void scheduler::announce(calls& whom) noexcept {
    if (!unannounced_) return;
    const int level = ready_.highest_standing();
    unannounced_ = level >= 0 && roster_.call_any(static_cast<unsigned>(level), whom);
}

void scheduler::make_active(context& c, calls& whom) noexcept {
    ready_.put_back(c, c.home->number());
    call_for(c, whom);
}

void scheduler::call_for(const context& c, calls& whom) noexcept {
    if (how_.migrate) roster_.call_any(c.effective_level(), whom);
    else roster_.call(c.home->number(), static_cast<int>(c.effective_level()), whom);
}

scheduler::turn scheduler::take_turn(worker& of, const left& before) noexcept {
    calls whom;
    turn now;
    context* stranded_one = nullptr;
    {
        const short_guard guard{lock_};
        put_where_it_belongs(of, before, whom);
        look(of, whom);
        now.next = take(of, whom);
        now.over = now.next == nullptr && ended_;
        if (now.next == nullptr && !now.over) stranded_one = stranded();
    }
    deliver(whom);
    now.again = stranded_one != nullptr;
    if (now.again) end_wait(*stranded_one);
    return now;
}

void scheduler::settle(worker& of, const left& before) noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        put_where_it_belongs(of, before, whom);
    }
    deliver(whom);
}

context* scheduler::next_above(worker& of, context& running) noexcept {
    calls whom;
    context* next = nullptr;
    {
        const short_guard guard{lock_};
        look(of, whom);
        if (ready_.next_level(of.number()) > static_cast<int>(running.effective_level())) {
            next = take(of, whom);
            const unsigned level = running.level;
            ready_.count_preemption(running);
            ++counts_.preemptions;
            if (running.level != level) ++counts_.promotions;
        } else {
            roster_.stay(of.number(), whom);
        }
    }
    deliver(whom);
    return next;
}

void scheduler::put_where_it_belongs(worker& of, const left& before, calls& whom) noexcept {
    if (before.who == nullptr) return;
    context& c = *before.who;
    switch (before.why) {
        case departure::finished: recycle(c); break;
        case departure::preempted:
            ready_.put_back(c, of.number());
            // Does not tick a worker: a promoted context waits for the next tick, as in the paper.
            if (how_.migrate) roster_.ring_any(whom);
            // A context that was lent a level on its way here does not wait; worker::enter handles it.
            if (c.lent != 0 && static_cast<int>(c.effective_level()) > roster_.level(of.number())) of.hurry();
            break;
        case departure::parked:
            if (std::exchange(c.woken, false)) make_active(c, whom);
            else c.state = condition::parked;
            break;
        case departure::none: break;
    }
}

void scheduler::look(worker& of, calls& whom) noexcept {
    roster_.answer(of.number(), whom);
    wake_the_late(of, whom);
    roster_.answer(of.number(), whom);
}

void scheduler::wake_the_late(worker& of, calls& whom) noexcept {
    if (of.nearest() == base::deadline::max()) return;
    const base::deadline now = base::now();
    if (now < of.nearest()) return;
    of.wake_nobody();
    for (std::size_t i = parked_.size(); i-- != 0;) {
        context& c = *parked_[i];
        if (c.home != &of || !c.until) continue;
        if (*c.until <= now) wake(c, whom);
        else of.wake_by(*c.until);
    }
}

context* scheduler::take(worker& of, calls& whom) noexcept {
    context* c = ready_.take(of.number());
    if (c != nullptr && !c->begun) c = &warmer(*c);
    roster_.take(of.number(), c, whom);
    if (c == nullptr) return nullptr;
    c->home = &of;
    c->turn = ++turns_;
    if (!c->begun && c->what.carrier != nullptr) *c->what.carrier = c;
    announce(whom);
    return c;
}

void scheduler::deliver(const calls& whom) noexcept {
    for (std::uint64_t left = whom.turns; left != 0; left &= left - 1) {
        const auto number = static_cast<unsigned>(std::countr_zero(left));
        // Two threads may deliver in another order than they held the lock. The thread whose system call comes later
        // checks again after the call. The kernel orders the calls, so the thread sees the other's store, which came
        // before its system call.
        for (bool first = roster_.goes_first(number);;) {
            workers_[number]->go_first(first);
            if (first == roster_.goes_first(number)) break;
            first = !first;
        }
    }
    for (std::uint64_t left = whom.bells | whom.nudges | whom.ticks; left != 0; left &= left - 1) {
        const std::uint64_t bit = left & -left;
        worker& w = *workers_[static_cast<std::size_t>(std::countr_zero(bit))];
        if ((whom.bells & bit) != 0) w.ring();
        else if ((whom.nudges & bit) != 0) w.nudge();
        if ((whom.ticks & bit) == 0) continue;
        if (&w == worker::current()) w.note_tick();
        else w.tick();
    }
}

void scheduler::drain() noexcept {
    for (bool counted = false;; counted = true) {
        const std::uint32_t seen = drained_.load(std::memory_order_acquire);
        {
            const short_guard guard{lock_};
            if (outstanding_ == 0) {
                if (counted) --draining_;
                return;
            }
            if (!counted) ++draining_;
        }
        base::futex_wait(drained_, seen);
    }
}

void scheduler::end_workers() noexcept {
    {
        const short_guard guard{lock_};
        ended_ = true;
    }
    for (auto& w : workers_) w->ring();
    for (auto& w : workers_) w->join();
    close_seam();
}

void scheduler::stop() noexcept {
    {
        const short_guard guard{lock_};
        if (ended_) return;
        stopping_ = true;
    }
    end_waits();
    drain();
    end_workers();
    for (auto& c : contexts_) {
        if (c->descriptor != nullptr) core::release_descriptor(*c->descriptor);
    }
}

counts scheduler::statistics() noexcept {
    const short_guard guard{lock_};
    counts c = counts_;
    for (const auto& w : workers_) w->add_to(c);
    c.standing = ready_.standing();
    c.active = ready_.active();
    c.parked = parked_count_;
    c.backlog = backlog_.size();
    for (unsigned l = 0; l < most_levels; ++l) c.waiting[l] = ready_.standing(l) + backlog_.size(l);
    return c;
}

}  // namespace tutti::preempt
