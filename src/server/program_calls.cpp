#include "server/program_calls.hpp"

#include <signal.h>

#include <algorithm>
#include <new>

#include "server/calls/timed_call.hpp"
#include "server/calls/unfinished_calls.hpp"

namespace tutti::server {

class program_calls::program_call final : public timed_call {
public:
    program_call(program_calls& of, const invocation& w, std::vector<std::string> given, answer_callback t,
                 call_origin f)
        : then{std::move(t)}, from{f}, of_{of}, text_{std::move(given)} {
        logged.log = of.log_;
        what = w;
        arguments.assign(text_.begin(), text_.end());
        arrived = std::chrono::steady_clock::now();
        name = what.entry->definition.name.c_str();
        priority = what.how.priority;
        due = what.due;
    }

    answer_callback then;  // empty once the call is answered
    const call_origin from;
    program_call* previous = nullptr;
    program_call* next = nullptr;
    program_call* next_rejected = nullptr;

    void reject() noexcept override { of_.defer_to_watcher(*this); }

private:
    void ended() noexcept override {
        const instant now = std::chrono::steady_clock::now();
        of_.log_if_slow(*this, now);
        const answer_callback callback = of_.finish(*this, now);
        // The call is no longer in the list, so no thread interrupts it any more. An earlier interruption must not
        // affect `then`, which may run transactions.
        if (of_.runs_.current() != nullptr) of_.runs_.forget_interruption();  // null if the call waited for the disk
        if (callback) callback(answer, how_it_ended);
        delete this;
    }

    program_calls& of_;
    const std::vector<std::string> text_;
};

program_calls::program_calls(const settings& how, executor& runs, const std::deque<procedure_entry>& known,
                             slow_log& slow, journal::journal* log)
    : how_{how}, runs_{runs}, slow_{slow}, log_{log}, counters_{known.size()}, stuck_calls_{how} {
    has_limits_ = std::ranges::any_of(known, [&](const procedure_entry& e) {
        const invocation any{.entry = &e, .how = {}};
        return time_limit_of(any, how).count() > 0;
    });
}

void program_calls::start() {
    watcher_ = std::thread{[this] { watch(); }};
}

std::chrono::nanoseconds program_calls::pause() const noexcept {
    constexpr std::chrono::milliseconds cancelled_check_period{100};
    if (has_limits_) return run_clock::first_pause;
    if (how_.cluster == nullptr) return stuck_calls_.period();
    return stuck_calls_.period().count() == 0
               ? cancelled_check_period
               : std::min<std::chrono::nanoseconds>(stuck_calls_.period(), cancelled_check_period);
}

program_calls::~program_calls() { stop(); }

void program_calls::link(program_call& c) noexcept {
    c.next = first_;
    if (first_ != nullptr) first_->previous = &c;
    first_ = &c;
}

void program_calls::unlink(program_call& c) noexcept {
    (c.previous == nullptr ? first_ : c.previous->next) = c.next;
    if (c.next != nullptr) c.next->previous = c.previous;
}

void program_calls::call(const invocation& what, std::vector<std::string> arguments, answer_callback then,
                         call_origin from) {
    auto made = std::make_unique<program_call>(*this, what, std::move(arguments), std::move(then), from);
    job* j = made.get();
    bool refused = false;
    {
        const std::scoped_lock lock{mutex_};
        link(*made);  // linked first, because a worker may be faster than this thread
        refused = draining_;
        if (watcher_sleeps_) changed_.notify_one();
    }
    if (refused) return refuse_call(*made);
    program_call* const mine = made.release();  // a worker may already have ended the call
    for (job* const other : runs_.submit({&j, 1})) {
        if (other != mine) other->reject();
        else refuse_call(*std::unique_ptr<program_call>{mine});
    }
}

void program_calls::defer_to_watcher(program_call& c) noexcept {
    const std::scoped_lock lock{mutex_};
    c.next_rejected = std::exchange(rejected_, &c);
    changed_.notify_one();
}

void program_calls::refuse_call(program_call& c) {
    c.how_it_ended = call_outcome::busy;
    {
        const std::scoped_lock lock{mutex_};
        if (draining_) c.how_it_ended = call_outcome::shutdown;
    }
    const answer_callback then = finish(c, std::chrono::steady_clock::now());  // called first, as later steps may throw
    reply to{c.answer, c.what.spoken};
    write_refusal(c.how_it_ended, to);
    if (then) then(c.answer, c.how_it_ended);
}

program_calls::answer_callback program_calls::finish(program_call& c, instant now) noexcept {
    answer_callback then;
    const std::scoped_lock lock{mutex_};
    unlink(c);
    counters_.count_call(c.what.entry->number, c.priority, c.how_it_ended, now - c.arrived);
    then.swap(c.then);
    return then;
}

void program_calls::log_if_slow(const program_call& c, instant now) noexcept {
    const std::chrono::nanoseconds ran = c.clock.elapsed(now);
    if (!slow_.is_slow(ran)) return;
    try {
        slow_.add(c, ran, now, c.from.number == 0 ? "program" : "node " + std::to_string(c.from.node), "");
    } catch (const std::bad_alloc&) {
        // There is no memory for the entry, so the slow log does not show the call.
    }
}

void program_calls::cancel(call_origin which, bool stranded) noexcept {
    const std::scoped_lock lock{mutex_};
    for (program_call* c = first_; c != nullptr; c = c->next) {
        if (c->from != which) continue;
        if (stranded) c->interrupt_at_shutdown();
        c->abandon();
        if (stranded || !c->what.entry->definition.options.outlives_client) runs_.interrupt_sleeper(*c);
        return;
    }
}

void program_calls::cancel_all_of(unsigned node) noexcept {
    const std::scoped_lock lock{mutex_};
    for (program_call* c = first_; c != nullptr; c = c->next) {
        // The watcher later interrupts abandoned calls that sleep in `retry`, except calls with `outlives_client`.
        if (c->from.number != 0 && c->from.node == node) c->abandon();
    }
}

void program_calls::add_unfinished(std::vector<std::string>& all) const {
    const instant now = std::chrono::steady_clock::now();
    std::size_t named = 0;
    const std::scoped_lock lock{mutex_};
    for (const program_call* c = first_; c != nullptr && named < unfinished_calls::max_named; c = c->next, ++named) {
        const bool is_own = c->from.number == 0;
        all.push_back(describe_unfinished(*c, is_own ? "the program" : "node " + std::to_string(c->from.node), now));
    }
}

void program_calls::begin_drain() noexcept {
    const std::scoped_lock lock{mutex_};
    draining_ = true;
}

void program_calls::stop() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        stopped_ = true;
    }
    changed_.notify_one();
    if (watcher_.joinable()) watcher_.join();
}

void program_calls::watch() noexcept {
    // Only the program's own threads handle signals, so this thread blocks them.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const bool checks = pause().count() != 0;
    constexpr instant never = instant::max();
    instant next_check = never;
    std::unique_lock lock{mutex_};
    while (!stopped_ || rejected_ != nullptr) {
        const instant now = std::chrono::steady_clock::now();
        if (checks && first_ != nullptr && next_check == never) next_check = now + pause();
        if (rejected_ == nullptr && now < next_check) {
            watcher_sleeps_ = checks && next_check == never;
            if (next_check == never) changed_.wait(lock);
            else changed_.wait_until(lock, next_check);
            watcher_sleeps_ = false;
            continue;
        }
        std::vector<late_answer> late;
        if (now >= next_check) {
            late = interrupt_overdue();
            next_check = never;
        }
        program_call* away = std::exchange(rejected_, nullptr);
        lock.unlock();
        for (const auto& [then, answer] : late) then(answer, call_outcome::timeout);
        while (away != nullptr) {
            program_call& c = *std::exchange(away, away->next_rejected);
            c.refuse(call_outcome::busy);
        }
        lock.lock();
    }
}

std::vector<program_calls::late_answer> program_calls::interrupt_overdue() noexcept {
    const instant now = std::chrono::steady_clock::now();
    std::vector<late_answer> late;
    stuck_calls_.begin_check();
    for (program_call* c = first_; c != nullptr; c = c->next) {
        stuck_calls_.check(*c, runs_, now);
        if (c->abandon_flag() && !c->what.entry->definition.options.outlives_client) runs_.interrupt_sleeper(*c);
        if (!c->enforce_limit(time_limit_of(c->what, how_), runs_, now) || !c->then) continue;
        try {
            std::string answer;
            write_overdue_error(c->what, answer);
            late.reserve(late.size() + 1);
            late.emplace_back(std::move(c->then), std::move(answer));
            c->then = {};
        } catch (const std::bad_alloc&) {
            // There is no memory for the answer. The call is answered when it is interrupted the next time, or when it
            // ends.
        }
    }
    stuck_calls_.end_check();
    return late;
}

}  // namespace tutti::server
