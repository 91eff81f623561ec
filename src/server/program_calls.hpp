// Calls from within the program. For such calls, this class does what an I/O thread does for clients: it counts the
// calls, answers each call once, and ends calls that exceed their time limit.
//
//   linked -> submitted -> run -> unlinked, counted, answered -> deleted by the thread that ran it
//                |          \-> answered before its end, because it has exceeded its time limit
//                \-> displaced by a job of another thread -> unlinked, counted, answered and deleted by the watcher,
//                    because the other thread may run a procedure, or own sockets
//
// Thread safety: any thread. No procedure or answer runs while `mutex_` is held. The executor interrupts only calls
// that are still linked.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/calls/executor.hpp"
#include "server/calls/forwarding.hpp"
#include "server/calls/stuck_calls.hpp"
#include "server/metrics/counters.hpp"
#include "server/protocol/slow_log.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class program_calls final : public call_host {
public:
    using answer_callback = std::function<void(std::string_view, call_outcome)>;

    /// `known`: the registered procedures. `log`: the log of calls, or null.
    program_calls(const settings& how, executor& runs, const std::deque<procedure_entry>& known, slow_log& slow,
                  journal::journal* log = nullptr);
    /// REQUIRES: stop() was called, unless no call was ever made.
    ~program_calls();

    /// Starts to enforce time limits. @throws std::system_error
    void start();
    /// Runs a call. `then` receives the answer in RESP3. REQUIRES: `what` has its priority and deadline, and accepts
    /// this number of arguments; start() was called.
    void call(const invocation& what, std::vector<std::string> arguments, answer_callback then, call_origin from = {});
    void host(const invocation& what, std::vector<std::string> arguments, call_origin from,
              answer_callback then) override {
        call(what, std::move(arguments), std::move(then), from);
    }
    void cancel(call_origin which, bool stranded) noexcept override;
    void cancel_all_of(unsigned node) noexcept override;
    /// Refuses calls from now on.
    void begin_drain() noexcept;
    /// Stops interrupting calls. REQUIRES: the executor is drained.
    void stop() noexcept;

    /// Returns true if no call is in progress.
    [[nodiscard]] bool has_no_calls() const noexcept {
        const std::scoped_lock lock{mutex_};
        return first_ == nullptr;
    }
    /// Appends lines about the calls in progress. @throws std::bad_alloc
    void add_unfinished(std::vector<std::string>& all) const;

    [[nodiscard]] const counters& counts() const noexcept { return counters_; }
    /// Returns the calls that block their worker.
    [[nodiscard]] const stuck_calls& stuck() const noexcept { return stuck_calls_; }

private:
    class program_call;
    using late_answer = std::pair<answer_callback, std::string>;
    [[nodiscard]] std::chrono::nanoseconds pause() const noexcept;
    void link(program_call& c) noexcept;
    void unlink(program_call& c) noexcept;
    /// Unlinks and counts the call. Returns the function to call with the answer.
    [[nodiscard]] answer_callback finish(program_call& c, instant now) noexcept;
    void refuse_call(program_call& c);
    /// Any thread may call this function.
    void defer_to_watcher(program_call& c) noexcept;
    void log_if_slow(const program_call& c, instant now) noexcept;
    void watch() noexcept;
    /// Interrupts calls that have exceeded their limit. REQUIRES: mutex_ is locked.
    std::vector<late_answer> interrupt_overdue() noexcept;

    const settings& how_;
    executor& runs_;
    slow_log& slow_;
    journal::journal* const log_;
    mutable std::mutex mutex_;  // guards all members below
    std::condition_variable changed_;
    program_call* first_ = nullptr;
    program_call* rejected_ = nullptr;
    counters counters_;
    bool has_limits_ = false;  // some procedure has a time limit
    stuck_calls stuck_calls_;
    bool watcher_sleeps_ = false;
    bool draining_ = false;
    bool stopped_ = false;
    std::thread watcher_;
};

}  // namespace tutti::server
