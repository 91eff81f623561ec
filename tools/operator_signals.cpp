#include "operator_signals.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cli/program.hpp"

namespace tutti::tools {
namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

constexpr milliseconds last_flush_timeout{100};  // time to write the last messages before an immediate end
constexpr milliseconds obstacles_timeout{1000};  // time limit for find_obstacles

}  // namespace

struct operator_signals::state : std::enable_shared_from_this<state> {
    explicit state(const operator_log& to) : log{to} { ::sigemptyset(&all); }

    void work();
    [[nodiscard]] int next(std::optional<clock::time_point> until);
    [[noreturn]] void end_at_once(int status) const noexcept;
    [[nodiscard]] bool must_end();
    void handle_hangups();

    const operator_log log;
    sigset_t all;
    std::atomic<bool> serves{false}, end_requested{false}, is_complete{false};
    std::atomic<unsigned> hangups{0};  // number of SIGHUPs
    std::mutex hangup_mutex{};         // held while `hangup` runs, so that its removal waits for the run
    std::function<void()> hangup{};
    std::mutex obstacles_mutex{};  // held while `find_obstacles` runs, so that its removal waits for the run
    std::function<obstacles()> find_obstacles{};
    std::atomic<milliseconds> limit{milliseconds{0}};
};

/// Waits for SIGTERM or SIGINT, and returns the signal, or 0 at the time `until`. Passes each SIGHUP on to another
/// thread.
int operator_signals::state::next(std::optional<clock::time_point> until) {
    for (;;) {
        int which = 0;
        if (until) {
            const auto left = std::max(std::chrono::nanoseconds{*until - clock::now()}, std::chrono::nanoseconds{0});
            constexpr std::int64_t second = 1'000'000'000;
            const timespec timeout{.tv_sec = left.count() / second, .tv_nsec = left.count() % second};
            which = ::sigtimedwait(&all, nullptr, &timeout);
            if (which < 0 && errno == EAGAIN) return 0;
        } else {
            ::sigwait(&all, &which);
        }
        if (which == SIGTERM || which == SIGINT) return which;
        if (which != SIGHUP) continue;
        ++hangups;
        hangups.notify_one();
    }
}

void operator_signals::state::end_at_once(int status) const noexcept {
    log.flush(last_flush_timeout);
    ::_exit(status);
}

/// Reports the obstacles of the shutdown. Returns true if the process must end although the shutdown is not complete.
bool operator_signals::state::must_end() {
    // Another thread calls `find_obstacles`, because `find_obstacles` may wait for a lock that is never released.
    struct search_result {
        std::mutex mutex{};
        std::condition_variable changed{};
        bool is_complete = false;
        obstacles found{};
    };
    const auto got = std::make_shared<search_result>();
    try {
        std::thread{[got, self = shared_from_this()] {
            obstacles found;
            {
                const std::scoped_lock lock{self->obstacles_mutex};
                if (self->find_obstacles) found = self->find_obstacles();
            }
            const std::scoped_lock mine{got->mutex};
            got->found = std::move(found);
            got->is_complete = true;
            got->changed.notify_one();
        }}.detach();
        std::unique_lock mine{got->mutex};
        got->changed.wait_for(mine, obstacles_timeout, [&] { return got->is_complete; });
        const std::string time = fmt::format("shutdown has taken {} ms", limit.load().count());
        if (got->found.extends_limit) {
            log.write(server::severity::warning, time + ", and continues; a second SIGTERM ends the process at once");
        } else {
            log.write(server::severity::error, time + (got->found.lines.empty() ? "" : " and still waits for:"));
        }
        for (const std::string& line : got->found.lines) log.write(server::severity::error, line);
        return !got->found.extends_limit;
    } catch (const std::exception&) {
        return true;  // there is no memory or no thread for `find_obstacles`
    }
}

void operator_signals::state::work() {
    if (const int which = next({}); !serves) end_at_once(128 + which);
    end_requested = true;
    end_requested.notify_all();
    for (;;) {
        const milliseconds longest = limit;
        const auto until = longest.count() == 0 ? std::optional<clock::time_point>{} : clock::now() + longest;
        if (const int which = next(until); which != 0) end_at_once(128 + which);
        if (!is_complete && !must_end()) continue;
        if (is_complete) end_at_once(cli::success);
        log.write(server::severity::error, fmt::format("the process ends with status {} without waiting longer",
                                                       static_cast<int>(cli::shutdown_timed_out)));
        end_at_once(cli::shutdown_timed_out);
    }
}

void operator_signals::state::handle_hangups() {
    for (unsigned seen = 0;;) {
        hangups.wait(seen);
        seen = hangups;  // one call handles all SIGHUPs that have arrived
        const std::scoped_lock lock{hangup_mutex};
        hangup();
    }
}

operator_signals::operator_signals(const operator_log& log, const std::string& refusal)
    : state_{std::make_shared<state>(log)} {
    for (const int which : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&state_->all, which);
    ::pthread_sigmask(SIG_BLOCK, &state_->all, nullptr);
    state_->hangup = [log, refusal] { log.write(server::severity::warning, refusal); };
    std::thread{[mine = state_] { mine->work(); }}.detach();
    std::thread{[mine = state_] { mine->handle_hangups(); }}.detach();
}

std::shared_ptr<void> operator_signals::on_hangup(std::function<void()> what) {
    const std::scoped_lock lock{state_->hangup_mutex};
    std::swap(state_->hangup, what);
    return {nullptr, [mine = state_, before = std::move(what)](void*) {
                const std::scoped_lock later{mine->hangup_mutex};
                mine->hangup = before;
            }};
}

std::shared_ptr<void> operator_signals::limit_end(milliseconds limit, std::function<obstacles()> find_obstacles) {
    const std::scoped_lock lock{state_->obstacles_mutex};
    state_->limit = limit;
    state_->find_obstacles = std::move(find_obstacles);
    return {nullptr, [mine = state_](void*) {
                const std::scoped_lock later{mine->obstacles_mutex};
                mine->find_obstacles = {};
            }};
}

void operator_signals::begin_serving() { state_->serves = true; }
void operator_signals::complete_shutdown() { state_->is_complete = true; }
void operator_signals::wait() const { state_->end_requested.wait(false); }
bool operator_signals::end_requested() const { return state_->end_requested; }

}  // namespace tutti::tools
