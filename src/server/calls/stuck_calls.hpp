// The calls that block their worker for long, as found by the threads that watch calls. Each watcher checks its own
// calls at intervals, and any thread may read the result of the latest check.
//
// Thread safety: the watcher calls `begin_check`, `check` and `end_check`; any thread calls `add_to`.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "server/calls/crash_report.hpp"
#include "server/calls/timed_call.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

struct stuck_call {
    std::string procedure;
    int priority;
    std::chrono::nanoseconds blocked_for;  ///< time without interruption
};

class stuck_calls {
public:
    /// `how` must outlive this object. Checks only if stuck calls are logged (report_crashes), or a client may ask
    /// for the server's health.
    explicit stuck_calls(const settings& how)
        : how_{how},
          after_{how.report_crashes || how.metrics_port ? how.stuck_after : std::chrono::milliseconds{0}},
          reports_{how.report_crashes} {
        if (after_.count() == 0) return;
        for (auto* const list : {&found_, &published_}) list->reserve(max_shown);
    }

    /// Returns how often to check; zero: never.
    [[nodiscard]] std::chrono::nanoseconds period() const noexcept {
        return after_.count() == 0 ? after_ : stuck_check_period(after_);
    }

    void begin_check() noexcept { found_.clear(); }
    /// Checks one call. REQUIRES: as executor::run_number_of.
    void check(timed_call& c, executor& runs, instant now) noexcept {
        if (!c.blocks_worker(after_, runs, now)) return;
        if (reports_ && c.is_first_report()) report_stuck_call(c, after_, how_);
        if (found_.size() < max_shown) found_.push_back({c.name, c.priority, c.blocked_since()});
    }
    void end_check() noexcept {
        if (found_.empty() && none_published_) return;
        const std::scoped_lock lock{mutex_};
        published_.swap(found_);
        none_published_ = published_.empty();
    }

    void add_to(std::vector<stuck_call>& all, instant now) const {
        const std::scoped_lock lock{mutex_};
        for (const found_call& o : published_) all.push_back({o.procedure, o.priority, now - o.since});
    }

private:
    static constexpr std::size_t max_shown = 1024;  // maximum number of calls shown, so a check allocates no memory
    struct found_call {
        const char* procedure;  // lives as long as the server
        int priority;
        instant since;
    };
    const settings& how_;
    const std::chrono::nanoseconds after_;  // a call that blocks its worker for less time is ignored
    const bool reports_;
    std::vector<found_call> found_;  // used by the watcher
    bool none_published_ = true;     // used by the watcher
    mutable std::mutex mutex_;       // guards the members below
    std::vector<found_call> published_;
};

}  // namespace tutti::server
