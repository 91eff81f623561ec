// The calls that keep their worker, as those see it who watch over calls: each watcher looks at its own, at intervals,
// and anybody may ask what it saw last.
//
// Thread safety: `begin_look`, `look_at` and `end_look` by the watcher; `add_to` from any thread.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "server/calls/crash_report.hpp"
#include "server/calls/timed_call.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

struct kept_call {
    std::string procedure;
    int priority;
    std::chrono::nanoseconds kept;  ///< for so long on end
};

class kept_calls {
public:
    /// `how` lives longer. Looks where somebody may be told: the operator (report_crashes), or whoever asks for the
    /// server's health.
    explicit kept_calls(const settings& how)
        : how_{how},
          after_{how.report_crashes || how.metrics_port ? how.stuck_after : std::chrono::milliseconds{0}},
          tells_{how.report_crashes} {
        if (after_.count() == 0) return;
        for (auto* const list : {&found_, &published_}) list->reserve(most);
    }

    /// How often to look; zero: never.
    [[nodiscard]] std::chrono::nanoseconds period() const noexcept {
        return after_.count() == 0 ? after_ : look_for_kept_every(after_);
    }

    void begin_look() noexcept { found_.clear(); }
    /// REQUIRES: as executor::turn_of.
    void look_at(timed_call& c, executor& runs, instant now) noexcept {
        if (!c.keeps_worker(after_, runs, now)) return;
        if (tells_ && c.first_told()) tell_of_kept_worker(c, after_, how_);
        if (found_.size() < most) found_.push_back({c.name, c.priority, c.kept_since()});
    }
    void end_look() noexcept {
        if (found_.empty() && none_published_) return;
        const std::scoped_lock lock{mutex_};
        published_.swap(found_);
        none_published_ = published_.empty();
    }

    void add_to(std::vector<kept_call>& all, instant now) const {
        const std::scoped_lock lock{mutex_};
        for (const one& o : published_) all.push_back({o.procedure, o.priority, now - o.since});
    }

private:
    static constexpr std::size_t most = 1024;  // of those that it shows: a look takes no memory
    struct one {
        const char* procedure;  // stays as long as the server
        int priority;
        instant since;
    };
    const settings& how_;
    const std::chrono::nanoseconds after_;  // what keeps its worker for less is not seen
    const bool tells_;
    std::vector<one> found_;      // the watcher's
    bool none_published_ = true;  // the watcher's
    mutable std::mutex mutex_;    // of what follows
    std::vector<one> published_;
};

}  // namespace tutti::server
