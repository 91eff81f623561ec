#include "server/calls/snapshotter.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "server/calls/huge_pages.hpp"
#include "server/journal/incoming_snapshot.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// The limits of the time that an attempt waits for transactions that cannot be restarted. During this wait, no other
// transaction can begin. An attempt that exceeds its limit doubles the limit, up to max_wait_limit. The next attempt
// follows after a hundred times the exceeded limit. So calls are delayed for at most a hundredth of the time.
constexpr milliseconds min_wait_limit{10}, max_wait_limit{1'000};
constexpr int share_of_time = 100;

class into_log final : public snapshot_sink {
public:
    explicit into_log(journal::journal& to) : to_{to} {}
    void put(std::string piece) override { to_.put(std::move(piece)); }
    void truncate(std::uint64_t count) override { to_.truncate(count); }
    void end() { to_.flush(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return to_.bytes(); }

private:
    journal::incoming_snapshot to_;
};

/// Finds the position at the instant of the snapshot. The constructor calls before_pause() and the destructor calls
/// after_pause(), so the object cannot be copied.
class position_finder final : public api::quiescent_action {
public:
    explicit position_finder(snapshot_position& where) : where_{where} { where_.before_pause(); }
    ~position_finder() { where_.after_pause(); }
    position_finder(const position_finder&) = delete;
    position_finder& operator=(const position_finder&) = delete;

    bool prepare() noexcept override {
        found = where_.current();
        return found.has_value();
    }

    std::optional<std::uint64_t> found{};

private:
    snapshot_position& where_;
};

}  // namespace

std::optional<std::uint64_t> leader_position::current() noexcept {
    try {
        const journal::reserved_record reserved = of_.reserve_record(0);
        of_.separate_groups(reserved);
        return reserved.position;
    } catch (const std::exception&) {
        return std::nullopt;  // memory is lacking, or the server is about to hand over leadership
    }
}

snapshotter::snapshotter(journal::journal& of, const catalog& procedures, std::unique_ptr<snapshot_position> where,
                         std::function<void(const std::string&)> log)
    : of_{of}, procedures_{procedures}, where_{std::move(where)}, log_{std::move(log)}, wait_limit_{min_wait_limit} {
    if (!procedures.all_snapshot_hooks().empty()) thread_ = std::thread{[this] { work(); }};
}

snapshotter::~snapshotter() { stop(); }

void snapshotter::stop() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock{mutex_};
        ending_ = true;
        if (child_ != nullptr) child_->kill();
    }
    changed_.notify_all();
    thread_.join();
}

bool snapshotter::is_due() const {
    constexpr std::uint64_t too_much = 8;  // multiple of the limit while a follower copies the snapshot
    const std::size_t after = of_.settings().snapshot_after;
    return after != 0 && of_.bytes_to_replay() / (of_.is_being_copied() ? too_much : 1) > after && !of_.has_error();
}

void snapshotter::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-snapshot");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    constexpr milliseconds check_interval{500}, max_pause{60'000};
    milliseconds pause = check_interval;  // grows after each failure, because a failed attempt costs a whole dump
    std::unique_lock lock{mutex_};
    while (!ending_) {
        changed_.wait_for(lock, pause, [this] { return ending_; });
        if (ending_) return;
        lock.unlock();
        if (is_due()) {
            const milliseconds waited = wait_limit_;
            switch (take()) {
                case attempt_result::stored: pause = check_interval; break;
                case attempt_result::failed: pause = std::min(2 * pause, max_pause); break;
                case attempt_result::busy: pause = share_of_time * waited;
            }
        }
        lock.lock();
    }
}

void snapshotter::handle_busy() {
    if (wait_limit_ == max_wait_limit) {
        log_("the snapshot failed: calls that cannot be interrupted ran for " + std::to_string(wait_limit_.count()) +
             " ms; the server will try again");
    }
    wait_limit_ = std::min(2 * wait_limit_, max_wait_limit);
}

/// Returns false if the snapshot could not begin, because calls were still running or no position could be reserved.
bool snapshotter::begin(dumping_process& child, std::uint64_t& position) {
    const auto began = std::chrono::steady_clock::now();
    position_finder at{*where_};
    const bool is_begun = child.start(base::now() + wait_limit_, at);
    const auto pause = std::chrono::steady_clock::now() - began;
    of_.progress().record_pause(std::chrono::duration_cast<std::chrono::microseconds>(pause));
    if (is_begun) position = at.found.value_or(0);
    return is_begun;
}

/// Stores the snapshot. Returns an error, or an empty string on success.
std::string snapshotter::store(dumping_process& child, std::uint64_t position, std::uint64_t& bytes,
                               std::uint64_t& copied) noexcept {
    try {
        into_log to{of_};
        copied = child.read_into(to);
        to.end();
        bytes = to.bytes();
        return where_->store(position);
    } catch (const std::exception& e) {
        return e.what();
    }
}

snapshotter::attempt_result snapshotter::take() noexcept {
    try {
        collapse_into_huge_pages([this] {
            const std::scoped_lock lock{mutex_};
            return ending_;
        });
        dumping_process child{procedures_};
        std::uint64_t position = 0, bytes = 0, copied = 0;
        std::string failed;
        try {
            if (!begin(child, position)) {
                handle_busy();
                return attempt_result::busy;
            }
            wait_limit_ = min_wait_limit;
            of_.progress().begin();
            {
                const std::scoped_lock lock{mutex_};
                child_ = &child;
                if (ending_) child.kill();
            }
            failed = store(child, position, bytes, copied);
        } catch (const std::exception& e) {
            of_.progress().begin();
            failed = e.what();
        }
        bool is_given_up = false;
        {
            const std::scoped_lock lock{mutex_};
            child_ = nullptr;
            is_given_up = ending_ && !failed.empty();
        }
        if (is_given_up) {
            of_.progress().abandon();
            return attempt_result::failed;
        }
        of_.progress().end(bytes, copied, failed);
        if (failed.empty()) return attempt_result::stored;
        log_("the snapshot failed: " + failed + ". The log is intact, and the server will try again");
    } catch (const std::exception&) {
        // There is no memory for the message, so the failure is not logged.
    }
    return attempt_result::failed;
}

void snapshotter::take_final() noexcept {
    if (procedures_.all_snapshot_hooks().empty() || !of_.has_calls_since_snapshot() || of_.has_error()) return;
    try {
        of_.progress().begin();
        std::string failed;
        std::uint64_t bytes = 0;
        try {
            into_log to{of_};
            const std::optional<std::uint64_t> position = where_->current();
            if (!position) throw std::bad_alloc{};
            dump(procedures_, to);
            to.end();
            bytes = to.bytes();
            failed = where_->store(*position);
        } catch (const std::exception& e) {
            failed = e.what();
        }
        of_.progress().end(bytes, 0, failed);
        if (!failed.empty()) log_("the snapshot failed: " + failed);
    } catch (const std::exception&) {
        // There is no memory for the message.
    }
}

}  // namespace tutti::server
