#include "tutti/server/line_writer.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::server {
namespace {

constexpr std::chrono::milliseconds destructor_time_limit{1000};  // maximum time that the destructor waits
constexpr std::chrono::milliseconds between_tries{1000};          // time between attempts to report lost lines

}  // namespace

struct line_writer::state {
    state(int to, loss_line how, std::size_t max_bytes)
        : descriptor{to}, report_loss{std::move(how)}, capacity{max_bytes} {}

    void work() noexcept;
    /// Writes the lines, and returns how many of them the system accepted. May block until the descriptor is writable.
    [[nodiscard]] std::size_t put_all(const std::vector<std::string>& lines) noexcept;
    [[nodiscard]] bool put(std::string_view line) noexcept;
    [[nodiscard]] bool put_loss(std::uint64_t lines) noexcept;
    /// REQUIRES: mutex is locked.
    [[nodiscard]] bool is_done() const noexcept { return waiting.empty() && !writing && (lost == reported || refused); }

    const int descriptor;
    const loss_line report_loss;
    const std::size_t capacity;
    bool torn = false;  // used only by the writer's thread: the latest line was written only in part

    mutable std::mutex mutex;  // guards the members below; not held during a write
    std::condition_variable has_work;
    mutable std::condition_variable has_changed;
    std::vector<std::string> waiting;
    std::size_t bytes = 0;                 // bytes of waiting lines, and of lines being written
    std::uint64_t lost = 0, reported = 0;  // numbers of lost lines, and of lost lines that were reported
    bool started = false;
    bool writing = false;
    bool refused = false;  // the system refused the latest line
    bool ends = false;
};

bool line_writer::state::put(std::string_view line) noexcept {
    if (torn && ::write(descriptor, "\n", 1) == 1) torn = false;
    const std::size_t whole = line.size();
    while (!line.empty()) {
        const ssize_t some = ::write(descriptor, line.data(), line.size());
        if (some > 0) {
            line.remove_prefix(static_cast<std::size_t>(some));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another process has made the descriptor non-blocking
            pollfd one{.fd = descriptor, .events = POLLOUT, .revents = 0};
            static_cast<void>(::poll(&one, 1, -1));
        } else if (errno != EINTR) {
            torn = torn || line.size() < whole;
            return false;
        }
    }
    return true;
}

std::size_t line_writer::state::put_all(const std::vector<std::string>& lines) noexcept {
    std::size_t taken = 0;
    for (const std::string& l : lines) taken += put(l) ? 1U : 0U;
    return taken;
}

bool line_writer::state::put_loss(std::uint64_t lines) noexcept {
    try {
        return put(report_loss(lines));
    } catch (const std::exception&) {
        return false;  // there is no memory, so the next attempt reports the loss
    }
}

void line_writer::state::work() noexcept {
    ::pthread_setname_np(::pthread_self(), "tutti-messages");
    std::vector<std::string> batch;
    std::unique_lock lock{mutex};
    for (;;) {
        const auto wanted = [this] { return !waiting.empty() || ends || (lost != reported && !refused); };
        // While a loss is not reported, wakes at intervals to try the report again.
        if (lost != reported) has_work.wait_for(lock, between_tries, wanted);
        else has_work.wait(lock, wanted);
        const std::uint64_t missing = lost - reported;
        if (ends && waiting.empty() && (missing == 0 || refused)) return;
        batch.swap(waiting);
        writing = true;
        lock.unlock();
        std::size_t sum = 0;
        for (const std::string& l : batch) sum += l.size();
        const std::size_t taken = put_all(batch);
        // A loss is reported after the lines that precede it, and only if the system accepted these lines.
        const bool is_loss_reported = missing != 0 && taken == batch.size() && put_loss(missing);
        lock.lock();
        writing = false;
        bytes -= sum;
        lost += batch.size() - taken;
        refused = taken < batch.size() || (missing != 0 && !is_loss_reported);
        if (is_loss_reported) reported += missing;
        batch.clear();
        has_changed.notify_all();
    }
}

line_writer::line_writer(int descriptor, loss_line report_loss, std::size_t capacity)
    : state_{std::make_shared<state>(descriptor, std::move(report_loss), capacity)} {}

line_writer::~line_writer() {
    static_cast<void>(flush(destructor_time_limit));
    const std::scoped_lock lock{state_->mutex};
    state_->ends = true;
    state_->has_work.notify_one();
}

void line_writer::write(std::string line) noexcept {
    state& s = *state_;
    const std::scoped_lock lock{s.mutex};
    try {
        if (!s.started) {
            // The new thread blocks all signals, because only the program's own threads handle signals. If the reader
            // of a pipe has closed it, SIGPIPE stays pending.
            sigset_t all, before;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, &before);
            try {
                // The thread is detached, because a write may never return.
                std::thread{[mine = state_] { mine->work(); }}.detach();
                s.started = true;
            } catch (const std::exception&) {
                // The next call of write() tries again to start the thread. That thread then reports the loss of this
                // line.
            }
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        }
        if (s.started && line.size() <= s.capacity - s.bytes) {
            const std::size_t size = line.size();
            s.waiting.push_back(std::move(line));
            s.bytes += size;
            s.has_work.notify_one();
            return;
        }
    } catch (const std::exception&) {
        // There is no memory for the line.
    }
    ++s.lost;
    s.has_work.notify_one();
}

bool line_writer::flush(std::chrono::milliseconds time_limit) const noexcept {
    std::unique_lock lock{state_->mutex};
    if (!state_->started) return state_->lost == 0;
    return state_->has_changed.wait_for(lock, time_limit, [this] { return state_->is_done(); });
}

std::uint64_t line_writer::lost() const noexcept {
    const std::scoped_lock lock{state_->mutex};
    return state_->lost;
}

}  // namespace tutti::server
