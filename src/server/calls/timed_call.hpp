// A call that an executor runs for one that waits for its answer: a client, or the program itself. What both have
// in common: its clock, its probes, how it ended, and what becomes of it when it runs for too long.
//
//   mine -> submitted -> run, or cut off -> held by the journal, if its answer has to wait for the disk or followers
//        -> ended(): `answer` is one value, `how_it_ended` says of what kind -> mine
//                   \-> refuse(), in place of all that -> ended()
//
// Thread safety: between submit and ended() it is the executor's, but for `keep_limit`, `keeps_worker` and
// what follows it, which one thread calls meanwhile.
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

class timed_call : public job, private journal::waiter {
public:
    void run() noexcept final {
        const instant start = std::chrono::steady_clock::now();
        clock.begin(start);
        const std::uint64_t began = base::ticks();
        TUTTI_PROBE3(dispatch, what.which->what.name.c_str(), priority, (start - arrived).count());
        // In a string of its own: one that is cut off half written is given up with the stack.
        std::string made;
        const ending how =
            may_begin() ? server::run(*this, what, arguments, made, logged) : run_refused(what, ending::busy, made);
        answer = std::move(made);
        ran = base::ticks() - began;
        end(how);
    }

    void cut_off() noexcept final {
        ran = ~std::uint64_t{0};
        const bool overdue = overdue_.load(std::memory_order_relaxed);
        end(overdue ? server::run_ended(what, answer) : server::run_over(what, answer));
    }

    void turn_away() noexcept override { refuse(ending::busy); }

    /// In place of run(). REQUIRES: `why` is busy or shutdown.
    void refuse(ending why) noexcept { end(run_refused(what, why, answer)); }

    /// In place of run() and submit(): another server has run it, or nobody will.
    void end_elsewhere(ending how, std::string made) noexcept {
        answer = std::move(made);
        end(how);
    }

    /// Interrupts it if it has run for `limit`, zero being none, and it is time to do so. Whether that did not help
    /// before: then its waiter is to be answered by tell_overdue. REQUIRES: as executor::interrupt.
    [[nodiscard]] bool keep_limit(std::chrono::nanoseconds limit, executor& runs, instant now) noexcept {
        if (has_ended_.load(std::memory_order_relaxed)) return false;
        if (limit.count() == 0 || !clock.is_over(limit, now)) return false;
        runs.interrupt(*this);
        if (clock.interrupts() > interrupts_in_vain) {
            overdue_.store(true, std::memory_order_relaxed);
            runs.end_where_it_stands(*this);
        }
        return clock.interrupts() > 1;
    }

    /// Whether it has kept its worker for `time` on end, zero being none, as far as those who asked this have seen.
    /// REQUIRES: as executor::turn_of; one thread at a time asks.
    [[nodiscard]] bool keeps_worker(std::chrono::nanoseconds time, executor& runs, instant now) noexcept {
        if (has_ended_.load(std::memory_order_relaxed)) return false;
        if (time.count() == 0 || !clock.has_lasted(time / 4, now)) return false;
        const std::uint64_t turn = runs.turn_of(*this);
        if (turn != seen_turn_) {
            seen_turn_ = turn;
            seen_since_ = now;
        }
        return turn != 0 && now - seen_since_ >= time;
    }
    /// Since when, by the same.
    [[nodiscard]] instant kept_since() const noexcept { return seen_since_; }
    /// True once.
    [[nodiscard]] bool first_told() noexcept { return !std::exchange(told_, true); }

    /// Whether its latest interruption is the one after which the operator is told that nothing helps.
    [[nodiscard]] bool resists() const noexcept { return clock.interrupts() == interrupts_without_end; }

    invocation what;
    std::vector<std::string_view> arguments;
    std::string answer;
    std::string unsaid;  // what it would have answered, if UNREPLICATED is in its place
    logging logged;
    instant arrived;
    run_clock clock;
    std::uint64_t ran = 0;  // ticks of the base clock from its begin to its end; 0: it has not run here
    ending how_it_ended = ending::ok;
    std::atomic<std::uint64_t> forwarded{0};  // by which number another server has it (forwarding.hpp); 0: none has
    timed_call* next_unknown = nullptr;       // of forwarding, among those that go with one node

protected:
    ~timed_call() = default;
    /// For another run.
    void forget_overdue() noexcept {
        overdue_.store(false, std::memory_order_relaxed);
        has_ended_.store(false, std::memory_order_relaxed);
        has_awaited_followers_ = false;
        seen_turn_ = 0;
        told_ = false;
        ran = 0;
        forwarded.store(0, std::memory_order_relaxed);
    }

private:
    static constexpr unsigned interrupts_in_vain = 5;      // within a third of a second, as run_clock counts
    static constexpr unsigned interrupts_without_end = 8;  // within a second and a half

    void end(ending how) noexcept {
        how_it_ended = how;
        TUTTI_PROBE3(answer, what.which->what.name.c_str(), priority, static_cast<int>(how));
        const bool has_run =
            how != ending::no_log && how != ending::read_only && how != ending::busy && how != ending::shutdown;
        if (logged.log != nullptr && has_run) {
            // Before it is the journal's: from there on it may be over. Its limit of time is kept by no one any more.
            has_ended_.store(true, std::memory_order_relaxed);
            if (logged.log->holds(*this, logged.awaits, host_sleeps()) || await_followers()) return;
        }
        ended();
    }
    /// Once, when it need not wait for the disk any more.
    [[nodiscard]] bool await_followers() noexcept {
        return !std::exchange(has_awaited_followers_, true) && logged.log->others().holds(*this, logged.awaits);
    }
    void pass_on(outcome how) noexcept override {
        switch (how) {
            case outcome::kept:
                if (await_followers()) return;
                break;
            case outcome::unknown: how_it_ended = run_unsaved(what, logged.log->trouble(), answer); break;
            case outcome::unreplicated:
                unsaid = std::exchange(answer, {});
                how_it_ended = run_unreplicated(what, answer);
                break;
        }
        ended();
    }
    bool has_awaited_followers_ = false;
    std::atomic<bool> has_ended_{false};  // its answer may wait for the disk
    std::atomic<bool> overdue_{false};    // it is to be ended where it stands

    // Of keeps_worker.
    std::uint64_t seen_turn_ = 0;
    instant seen_since_{};
    bool told_ = false;

    /// Whether there is room for what it will answer; otherwise it is BUSY.
    [[nodiscard]] virtual bool may_begin() const noexcept { return true; }
    /// Of the thread that it came from: see journal::holds.
    [[nodiscard]] virtual const std::atomic<bool>* host_sleeps() const noexcept { return nullptr; }
    /// Gives it back to its owner. The last thing that it does may be to have it destroyed.
    virtual void ended() noexcept = 0;
};

}  // namespace tutti::server
