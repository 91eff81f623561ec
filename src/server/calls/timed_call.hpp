// A call that an executor runs, and whose answer a client or the program itself waits for. This class has the common
// part: the clock, the probes, how the call ended, and the handling of calls that run too long.
//
//   mine -> submitted -> run, or terminated -> held by the journal, if its answer has to wait for the disk or followers
//        -> ended(): `answer` is one value, and `how_it_ended` says how the call ended -> mine
//                   \-> refuse(), and the call does not run -> ended()
//
// Thread safety: between submit and ended() the executor owns the call. Meanwhile one thread may call `enforce_limit`,
// `blocks_worker` and the functions after them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "server/calls/invocation.hpp"
#include "server/calls/probes.hpp"
#include "server/calls/run_clock.hpp"
#include "server/journal/journal.hpp"

namespace tutti::server {

class timed_call : public job, private journal::durability_waiter {
public:
    void run() noexcept final {
        const instant start = std::chrono::steady_clock::now();
        clock.begin(start);
        const std::uint64_t began = base::ticks();
        TUTTI_PROBE3(dispatch, what.entry->definition.name.c_str(), priority, (start - arrived).count());
        // The call writes its answer to a local string. A call that is terminated abandons its stack, and the
        // half-written answer with the stack.
        std::string written;
        const call_outcome how = may_begin() ? server::run(*this, what, arguments, written, logged)
                                             : answer_refused(what, call_outcome::busy, written);
        answer = std::move(written);
        run_ticks = base::ticks() - began;
        end(how);
    }

    void on_termination() noexcept final {
        run_ticks = ~std::uint64_t{0};
        const bool overdue = overdue_.load(std::memory_order_relaxed);
        end(overdue ? server::answer_terminated(what, answer) : server::answer_stack_overflow(what, answer));
    }

    void reject() noexcept override { refuse(call_outcome::busy); }

    /// Ends the call instead of run(). REQUIRES: `why` is busy or shutdown.
    void refuse(call_outcome why) noexcept { end(answer_refused(what, why, answer)); }

    /// Ends the call without submit() and run(). Used if the call is refused, or if another server has run it or may
    /// have run it.
    void end_without_run(call_outcome how, std::string made) noexcept {
        answer = std::move(made);
        end(how);
    }

    /// Interrupts the call if it has run for `limit` (zero: no limit) and an interrupt is due. Returns true if an
    /// earlier interrupt had no effect. The caller must then answer the waiting client with write_overdue_error.
    /// REQUIRES: as executor::interrupt.
    [[nodiscard]] bool enforce_limit(std::chrono::nanoseconds limit, executor& runs, instant now) noexcept {
        if (has_ended_.load(std::memory_order_relaxed)) return false;
        if (limit.count() == 0 || !clock.is_interrupt_due(limit, now)) return false;
        runs.interrupt(*this);
        if (clock.interrupts() > max_ignored_interrupts) {
            overdue_.store(true, std::memory_order_relaxed);
            runs.terminate_in_place(*this);
        }
        return clock.interrupts() > 1;
    }

    /// Returns true if all calls of this function within `time` have found that the same run blocks its worker. If
    /// `time` is zero, returns false. REQUIRES: as executor::run_number_of; one thread at a time calls this.
    [[nodiscard]] bool blocks_worker(std::chrono::nanoseconds time, executor& runs, instant now) noexcept {
        if (has_ended_.load(std::memory_order_relaxed)) return false;
        if (time.count() == 0 || !clock.has_run_for(time / 4, now)) return false;
        const std::uint64_t run_number = runs.run_number_of(*this);
        if (run_number != seen_run_number_) {
            seen_run_number_ = run_number;
            seen_since_ = now;
        }
        return run_number != 0 && now - seen_since_ >= time;
    }
    /// Returns the time since when the call has blocked its worker, according to blocks_worker.
    [[nodiscard]] instant blocked_since() const noexcept { return seen_since_; }
    /// Returns true when called for the first time.
    [[nodiscard]] bool is_first_report() noexcept { return !std::exchange(is_reported_, true); }

    /// Returns true if the latest interrupt is the one after which the server logs that the call cannot be interrupted.
    [[nodiscard]] bool is_unstoppable() const noexcept { return clock.interrupts() == interrupts_before_report; }

    invocation what;
    std::vector<std::string_view> arguments;
    std::string answer;
    std::string replaced_answer;  // the answer that UNREPLICATED replaced
    log_context logged;
    instant arrived;
    run_clock clock;
    std::uint64_t run_ticks = 0;  // in ticks of the base clock, from begin to end; 0: not run here
    call_outcome how_it_ended = call_outcome::ok;
    // the number by which another server has the call (forwarding.hpp); 0: no server has it
    std::atomic<std::uint64_t> forwarded{0};
    timed_call* next_unknown = nullptr;  // used by forwarding, to list the calls that were lost with a node

protected:
    ~timed_call() = default;
    /// Resets the call for another run.
    void reset_run() noexcept {
        overdue_.store(false, std::memory_order_relaxed);
        has_ended_.store(false, std::memory_order_relaxed);
        has_awaited_followers_ = false;
        seen_run_number_ = 0;
        is_reported_ = false;
        run_ticks = 0;
        forwarded.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned max_ignored_interrupts = 5;    // within a third of a second, with run_clock's pauses
    static constexpr unsigned interrupts_before_report = 8;  // within a second and a half

    void end(call_outcome how) noexcept {
        how_it_ended = how;
        TUTTI_PROBE3(answer, what.entry->definition.name.c_str(), priority, static_cast<int>(how));
        const bool has_run = how != call_outcome::misconf && how != call_outcome::read_only &&
                             how != call_outcome::busy && how != call_outcome::shutdown;
        if (logged.log != nullptr && has_run) {
            // The flag is set before the journal owns the call, because the journal may end the call at any time. The
            // time limit no longer applies.
            has_ended_.store(true, std::memory_order_relaxed);
            if (logged.log->hold_until_durable(*this, logged.awaited_position, owner_sleep_flag()) || await_followers())
                return;
        }
        ended();
    }
    /// After the wait for the disk, makes the call wait for followers. Returns true if the call waits. Only the first
    /// use of this function makes the call wait.
    [[nodiscard]] bool await_followers() noexcept {
        return !std::exchange(has_awaited_followers_, true) &&
               logged.log->followers().hold_until_replicated(*this, logged.awaited_position);
    }
    void finish_wait(durability_result how) noexcept override {
        switch (how) {
            case durability_result::durable:
                if (await_followers()) return;
                break;
            case durability_result::unknown: how_it_ended = answer_unsaved(what, logged.log->error(), answer); break;
            case durability_result::unreplicated:
                replaced_answer = std::exchange(answer, {});
                how_it_ended = answer_unreplicated(what, answer);
                break;
        }
        ended();
    }
    bool has_awaited_followers_ = false;
    std::atomic<bool> has_ended_{false};  // the call has run, and its answer may wait for the disk
    std::atomic<bool> overdue_{false};    // the call is to be terminated in the middle of its run

    // Only blocks_worker uses these members.
    std::uint64_t seen_run_number_ = 0;
    instant seen_since_{};
    bool is_reported_ = false;

    /// Returns true if the server has room for the answer. If not, the call ends as BUSY.
    [[nodiscard]] virtual bool may_begin() const noexcept { return true; }
    /// Returns the sleep flag of the thread that submitted the call: see journal::hold_until_durable.
    [[nodiscard]] virtual const std::atomic<bool>* owner_sleep_flag() const noexcept { return nullptr; }
    /// Returns the call to its owner. The last step of this function may destroy the call.
    virtual void ended() noexcept = 0;
};

}  // namespace tutti::server
