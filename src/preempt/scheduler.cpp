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
    if (how.workers == 0 || how.workers > max_workers)
        throw std::invalid_argument{"tutti: workers: give a number from 1 to 64, not " + std::to_string(how.workers)};
    if (how.contexts < how.workers) {
        throw std::invalid_argument{"tutti: contexts: give at least one for each of the " +
                                    std::to_string(how.workers) + " workers, not " + std::to_string(how.contexts)};
    }
    if (how.highest_level >= max_levels) {
        throw std::invalid_argument{"tutti: highest_level: give a number from 0 to 63, not " +
                                    std::to_string(how.highest_level)};
    }
    if (how.migrate && how.shared_thread_locals) {
        throw std::invalid_argument{
            "tutti: contexts that migrate need thread-local storage of their own: leave out shared_thread_locals "
            "(--shared-thread-locals)"};
    }
    if (how.migrate && !tls_block::is_available()) {
        throw std::invalid_argument{
            "tutti: contexts cannot migrate here, because the processor, the kernel or a sanitizer does not let a "
            "program set the base of FS: leave out migrate (--migrate)"};
    }
    return how;
}

/// The number of contexts prepared per worker: for the running work, and for the work that it has interrupted at
/// several levels. Preparing a context later starts a thread, which may take milliseconds on a busy machine.
constexpr unsigned contexts_prepared_per_worker = 4;

rank rank_of(const work& w, std::uint64_t order) noexcept {
    return {.priority = w.priority, .due = w.due.value_or(base::deadline::max()), .order = order};
}

}  // namespace

scheduler::scheduler(const options& how)
    : how_{checked(how)},
      source_{choose_tick_source(how.tick_source)},
      separates_thread_locals_{!how.shared_thread_locals && tls_block::is_available()},
      application_{source_.allow, source_.preempts},
      pool_{how.contexts, how.stack_bytes},
      ready_{how.workers, how.highest_level, how.boost, how.migrate},
      worker_table_{how.workers, how.realtime_min_priority} {
    for (unsigned i = 0; i < how_.contexts; ++i) add_context();
    prepare_thread_locals();
    for (unsigned i = 0; i < how_.workers; ++i) workers_.push_back(std::make_unique<worker>(*this, i));
    install_hooks();
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
    return c == nullptr ? nullptr : c->current_work.argument;
}

/// Prepares thread-local storage for some contexts. Other contexts get their storage when they begin (worker::enter),
/// which costs their worker the start of a thread.
void scheduler::prepare_thread_locals() {
    if (!separates_thread_locals_) return;
    const std::size_t prepared = std::min(how_.contexts, contexts_prepared_per_worker * how_.workers);
    for (const auto& c : pool_.all().last(prepared)) c->block.emplace();  // the last ones are taken first
}

void scheduler::prepare(context& c) {
    if (c.descriptor != nullptr) return;
    c.descriptor = &core::acquire_descriptor();
    attach_hooks(c);
}

/// If the caller is a worker that runs no context, returns the worker's number. Otherwise returns no_worker.
unsigned scheduler::idle_caller() const noexcept {
    const worker* const w = worker::current();
    return w != nullptr && w->running() == nullptr ? w->number() : worker_table::no_worker;
}

std::span<work> scheduler::submit(std::span<work> several, unsigned max_wakeups) noexcept {
    wakeups to_wake;
    unsigned first = idle_caller();
    std::size_t away = 0;
    arrivals admitted;
    const urgency how = std::ranges::all_of(several, &work::is_patient) ? urgency::patient : urgency::urgent;
    {
        const adaptive_lock_guard guard{lock_};
        for (const work& w : several) {
            if (const std::optional<work> other = accept(w, admitted)) several[away++] = *other;
        }
        for (std::uint64_t left = admitted.levels; left != 0;) {
            const auto level = static_cast<unsigned>(std::bit_width(left)) - 1;
            left ^= std::uint64_t{1} << level;
            unsigned n = std::min(admitted.at[level], how_.workers);
            for (; n != 0 && max_wakeups != 0; --n, --max_wakeups)
                worker_table_.wake_any_for(level, to_wake, std::exchange(first, worker_table::no_worker), how);
            if (n != 0) worker_table_.wake_if_awake(to_wake);
        }
        if (worker_table_.has_skipped()) has_skipped_workers_.store(true, std::memory_order_relaxed);
    }
    deliver(to_wake);
    // If a procedure submits the work, the new work may have to preempt the procedure's own context.
    if (detail::current_transaction != nullptr && current() != nullptr) {
        core::descriptor& d = core::descriptor::of(*detail::current_transaction);
        if (d.critical_depth.load(std::memory_order_relaxed) == 0) core::serve_pending_tick(d);
    }
    return several.first(away);
}

void scheduler::tick_overdue() noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        worker_table_.recheck_skipped(to_wake, ready_.highest_unstarted(),
                                      [this](unsigned worker) { return ready_.highest_active(worker); });
        for (unsigned level = how_.highest_level + 1; level-- != 0;) {
            unsigned n = ready_.unstarted_before(level, overdue_before_, how_.workers);
            while (n != 0 && worker_table_.preempt_for_overdue(level, to_wake)) --n;
            if (n != 0) break;
        }
        overdue_before_ = counts_.accepted;
        const bool keeps_waiting = ready_.highest_unstarted() > worker_table_.lowest_busy_level();
        has_skipped_workers_.store(worker_table_.has_skipped() || keeps_waiting, std::memory_order_relaxed);
    }
    deliver(to_wake);
}

void scheduler::wake_worker() noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        for (unsigned level = how_.highest_level + 1; level-- != 0;) {
            for (auto n = std::min<std::size_t>(ready_.unstarted(level), how_.workers); n != 0; --n)
                worker_table_.wake_any_for(level, to_wake);
        }
        if (to_wake.idle == 0) worker_table_.wake_any_idle(to_wake);
    }
    deliver(to_wake);
}

std::optional<work> scheduler::accept(const work& w, arrivals& now) noexcept {
    const unsigned level = std::min(w.priority, how_.highest_level);
    const bool full = ready_.unstarted() + outstanding_ - pool_.places_taken() >= how_.max_waiting;
    try {
        if ((!full || can_shed_for(level)) && (!stopping_ || current() != nullptr)) {
            accepted_work item{w, base::ticks()};
            item.what.priority = level;
            admit_or_queue(rank_of(item.what, counts_.accepted), item, now);
            if (!full) return std::nullopt;
            return shed_for(level);
        }
    } catch (const std::exception&) {
        // If memory runs out, the caller gets the same result as if there were no room.
    }
    ++counts_.refused;
    return w;
}

void scheduler::admit_or_queue(const rank& at, const accepted_work& w, arrivals& now) {
    if (context* const c = context_for(at.priority)) {
        admit(*c, at, w);
        ++now.at[c->level];
        now.levels |= std::uint64_t{1} << c->level;
    } else {
        admission_queue_.push(at, w);
    }
    ++outstanding_;
    ++counts_.accepted;
}

bool scheduler::can_shed_for(unsigned level) const noexcept {
    const bool without_a_place = !admission_queue_.empty() && admission_queue_.lowest_priority() < level;
    return how_.sheds && (without_a_place || ready_.last_below(level) != nullptr);
}

work scheduler::shed_for(unsigned level) noexcept {
    // Work that waits for a place comes after unstarted contexts of the same level (see context_for).
    context* const last =
        ready_.last_below(admission_queue_.empty() ? level : std::min(level, admission_queue_.lowest_priority()));
    const work away = last != nullptr ? last->current_work : admission_queue_.pop_last().value.what;
    if (last != nullptr) {
        withdraw(*last);
        pool_.free_unused(*last);
    }
    --outstanding_;
    ++counts_.shed_by_level[away.priority];
    return away;
}

context* scheduler::context_for(unsigned level) {
    if (context* const c = free_context()) return c;
    // Takes the context of work that has not begun, because such work does not need a context yet. Otherwise a lot of
    // work of the lowest level would keep the highest level from preempting.
    context* const last = ready_.last_below(level);
    if (last == nullptr) return nullptr;
    admission_queue_.push(rank_of(last->current_work, last->order), {last->current_work, last->arrived});
    withdraw(*last);
    return last;
}

void scheduler::withdraw(context& c) noexcept {
    ready_.withdraw(c);
    pool_.release_place(c);
}

context* scheduler::free_context() {
    if (!pool_.is_place_free()) return nullptr;
    if (pool_.is_exhausted()) add_context();
    prepare(pool_.next_free());
    return &pool_.take();
}

/// Moves work that has not begun to the most recently used context, if such a context is free. So calls that do not
/// interrupt each other run on one stack and with the logs of one transaction. This stack and these logs stay in the
/// cache, however many calls wait.
context& scheduler::more_recently_run(context& c) noexcept {
    context* const recent = pool_.take_recently_run();
    if (recent == nullptr) return c;
    context& used = *recent;
    used.current_work = c.current_work;
    used.arrived = c.arrived;
    used.order = c.order;
    used.due = c.due;
    used.level = c.level;
    used.preemptions = used.inherited_level = 0;
    used.has_started = false;
    used.has_place = std::exchange(c.has_place, false);
    used.state = c.state;
    pool_.free_unused(c);
    return used;
}

void scheduler::add_context() {
    parked_.make_room(pool_.all().size() + 1);
    pool_.add();
}

void scheduler::admit_next() noexcept {
    if (admission_queue_.empty()) return;
    try {
        if (context* const c = free_context()) admit_unannounced(*c);
    } catch (const std::exception&) {
        // If memory runs out, the work continues to wait until a context becomes free.
    }
}

void scheduler::admit(context& c, const rank& at, const accepted_work& w) noexcept {
    pool_.take_place(c);
    c.current_work = w.what;
    c.arrived = w.arrived;
    c.order = at.order;
    c.home_worker = nullptr;
    c.has_started = false;
    ready_.admit(c);
}

void scheduler::admit_unannounced(context& c) noexcept {
    const auto next = admission_queue_.pop();
    admit(c, next.at, next.value);
    unannounced_ = true;
}

void scheduler::recycle(context& c) noexcept {
    c.work_ended = c.pin_count != 0;
    if (c.work_ended) return;
    core::forget_interruption(*c.descriptor);
    c.stack_overflowed = false;
    c.single_steps = {};
    c.doomed.store(false, std::memory_order_relaxed);
    c.stack_memory.close();
    ++counts_.finished;
    pool_.release_place(c);
    if (admission_queue_.empty() || !pool_.is_place_free()) {
        pool_.free_recently_run(c);
    } else {
        admit_unannounced(c);
    }
    if (--outstanding_ == 0 && draining_ != 0) {
        drained_.fetch_add(1, std::memory_order_release);
        base::futex_wake_all(drained_);
    }
}

void scheduler::forget_interruption() noexcept { core::forget_interruption(*current()->descriptor); }

/// Wakes a worker for an unstarted context, because started contexts of the same level come first and may keep the
/// caller busy forever. Wakes only one worker: the worker that takes the context wakes another one for the rest.
void scheduler::announce(wakeups& to_wake) noexcept {
    if (!unannounced_) return;
    const int level = ready_.highest_unstarted();
    unannounced_ = level >= 0 && worker_table_.wake_any_for(static_cast<unsigned>(level), to_wake);
}

void scheduler::make_active(context& c, wakeups& to_wake) noexcept {
    ready_.put_back(c, c.home_worker->number());
    wake_worker_for(c, to_wake);
}

void scheduler::wake_worker_for(const context& c, wakeups& to_wake) noexcept {
    if (how_.migrate) worker_table_.wake_any_for(c.effective_level(), to_wake);
    else worker_table_.wake_for(c.home_worker->number(), static_cast<int>(c.effective_level()), to_wake);
}

scheduler::worker_step scheduler::next_step(worker& of, const departed_context& before) noexcept {
    wakeups to_wake;
    worker_step now;
    context* stranded_one = nullptr;
    {
        const adaptive_lock_guard guard{lock_};
        requeue(of, before, to_wake);
        poll_wakeups(of, to_wake);
        now.next = take_next(of, to_wake);
        now.ended = now.next == nullptr && ended_;
        if (now.next == nullptr && !now.ended) stranded_one = find_stranded();
    }
    deliver(to_wake);
    now.repeat = stranded_one != nullptr;
    if (now.repeat) interrupt_stranded(*stranded_one);
    return now;
}

void scheduler::requeue_departed(worker& of, const departed_context& before) noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        requeue(of, before, to_wake);
    }
    deliver(to_wake);
}

context* scheduler::next_above(worker& of, context& running) noexcept {
    wakeups to_wake;
    context* next = nullptr;
    {
        const adaptive_lock_guard guard{lock_};
        poll_wakeups(of, to_wake);
        if (ready_.next_level(of.number()) > static_cast<int>(running.effective_level())) {
            next = take_next(of, to_wake);
            const unsigned level = running.level;
            ready_.count_preemption(running);
            ++counts_.preemptions;
            if (running.level != level) ++counts_.priority_boosts;
        } else {
            worker_table_.keep_context(of.number(), to_wake);
        }
    }
    deliver(to_wake);
    return next;
}

void scheduler::requeue(worker& of, const departed_context& before, wakeups& to_wake) noexcept {
    if (before.who == nullptr) return;
    context& c = *before.who;
    switch (before.reason) {
        case leave_reason::finished: recycle(c); break;
        case leave_reason::preempted:
            ready_.put_back(c, of.number());
            // No worker gets a tick here, because a promoted context waits for the next tick, as in the paper.
            if (how_.migrate) worker_table_.wake_any_idle(to_wake);
            // A context that has inherited a level while it was leaving must not wait for the next tick. worker::enter
            // handles the request.
            if (c.inherited_level != 0 && static_cast<int>(c.effective_level()) > worker_table_.level(of.number()))
                of.check_soon();
            break;
        case leave_reason::parked:
            if (std::exchange(c.woken_early, false)) make_active(c, to_wake);
            else c.state = run_state::parked;
            break;
        case leave_reason::none: break;
    }
}

void scheduler::poll_wakeups(worker& of, wakeups& to_wake) noexcept {
    worker_table_.clear_wakeup(of.number(), to_wake);
    wake_overdue(of, to_wake);
    worker_table_.clear_wakeup(of.number(), to_wake);
}

void scheduler::wake_overdue(worker& of, wakeups& to_wake) noexcept {
    if (of.next_wakeup() == base::deadline::max()) return;
    const base::deadline now = base::now();
    if (now < of.next_wakeup()) return;
    of.clear_next_wakeup();
    parked_.visit_listed([&](context& c) {
        if (c.home_worker != &of || !c.wait_deadline) return;
        if (*c.wait_deadline <= now) wake(c, to_wake);
        else of.wake_at_latest(*c.wait_deadline);
    });
}

context* scheduler::take_next(worker& of, wakeups& to_wake) noexcept {
    context* c = ready_.take_next(of.number());
    if (c != nullptr && !c->has_started) c = &more_recently_run(*c);
    worker_table_.set_context(of.number(), c, to_wake);
    if (c == nullptr) return nullptr;
    c->home_worker = &of;
    c->run_number = ++runs_;
    if (!c->has_started && c->current_work.context_slot != nullptr) *c->current_work.context_slot = c;
    announce(to_wake);
    return c;
}

void scheduler::deliver(const wakeups& to_wake) noexcept {
    for (std::uint64_t left = to_wake.priority_changes; left != 0; left &= left - 1) {
        const auto number = static_cast<unsigned>(std::countr_zero(left));
        // Two threads may come here in a different order than the order in which they held the lock. Each thread checks
        // the flag again after its system call. The kernel orders the two calls, and each thread's store precedes that
        // thread's call. So the thread with the later call sees the other thread's store.
        for (bool first = worker_table_.is_realtime(number);;) {
            workers_[number]->set_realtime(first);
            if (first == worker_table_.is_realtime(number)) break;
            first = !first;
        }
    }
    for (std::uint64_t left = to_wake.idle | to_wake.idle_awake | to_wake.busy; left != 0; left &= left - 1) {
        const std::uint64_t bit = left & -left;
        worker& w = *workers_[static_cast<std::size_t>(std::countr_zero(bit))];
        if ((to_wake.idle & bit) != 0) w.signal_wakeup();
        else if ((to_wake.idle_awake & bit) != 0) w.signal_if_awake();
        if ((to_wake.busy & bit) == 0) continue;
        if (&w == worker::current()) w.request_check();
        else w.tick();
    }
}

void scheduler::drain() noexcept {
    for (bool counted = false;; counted = true) {
        const std::uint32_t seen = drained_.load(std::memory_order_acquire);
        {
            const adaptive_lock_guard guard{lock_};
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
        const adaptive_lock_guard guard{lock_};
        ended_ = true;
    }
    for (auto& w : workers_) w->signal_wakeup();
    for (auto& w : workers_) w->join();
    remove_hooks();
}

void scheduler::stop() noexcept {
    {
        const adaptive_lock_guard guard{lock_};
        if (ended_) return;
        stopping_ = true;
    }
    end_waits();
    drain();
    end_workers();
    for (const auto& c : pool_.all()) {
        if (c->descriptor != nullptr) core::release_descriptor(*c->descriptor);
    }
}

counts scheduler::statistics() noexcept {
    const adaptive_lock_guard guard{lock_};
    counts c = counts_;
    for (const auto& w : workers_) w->add_to(c);
    c.unstarted = ready_.unstarted();
    c.active = ready_.active();
    c.parked = parked_.size();
    c.without_context = admission_queue_.size();
    for (unsigned l = 0; l < max_levels; ++l) c.unstarted_by_level[l] = ready_.unstarted(l) + admission_queue_.size(l);
    return c;
}

}  // namespace tutti::preempt
