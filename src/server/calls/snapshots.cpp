#include "server/calls/snapshots.hpp"

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

// How long transactions that cannot be restarted may continue, while no other transaction begins. The time grows after
// each failed attempt, and the next attempt comes after a hundred times that. So calls wait for at most a hundredth of
// the time.
constexpr milliseconds least_patience{10}, most_patience{1'000};
constexpr int share_of_time = 100;

class into_log final : public piece_sink {
public:
    explicit into_log(journal::journal& to) : to_{to} {}
    void put(std::string piece) override { to_.put(std::move(piece)); }
    void take_back(std::uint64_t count) override { to_.take_back(count); }
    void end() { to_.flush(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return to_.bytes(); }

private:
    journal::incoming_snapshot to_;
};

/// Finds the position at the instant of the snapshot. Its life spans hold() and let_go(), so it cannot be copied.
class position_finder final : public api::quiescent_action {
public:
    explicit position_finder(snapshot_position& where) : where_{where} { where_.hold(); }
    ~position_finder() { where_.let_go(); }
    position_finder(const position_finder&) = delete;
    position_finder& operator=(const position_finder&) = delete;

    bool prepare() noexcept override {
        found = where_.now();
        return found.has_value();
    }

    std::optional<std::uint64_t> found{};

private:
    snapshot_position& where_;
};

}  // namespace

std::optional<std::uint64_t> leading_position::now() noexcept {
    try {
        const journal::place drawn = of_.draw(0);
        of_.cut(drawn);
        return drawn.position;
    } catch (const std::exception&) {
        return std::nullopt;  // no memory, or the server is about to hand over its lead
    }
}

snapshots::snapshots(journal::journal& of, const catalog& procedures, std::unique_ptr<snapshot_position> where,
                     std::function<void(const std::string&)> tell)
    : of_{of}, procedures_{procedures}, where_{std::move(where)}, tell_{std::move(tell)}, patience_{least_patience} {
    if (!procedures.kept().empty()) thread_ = std::thread{[this] { work(); }};
}

snapshots::~snapshots() { stop(); }

void snapshots::stop() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock{mutex_};
        ending_ = true;
        if (child_ != nullptr) child_->kill();
    }
    changed_.notify_all();
    thread_.join();
}

bool snapshots::is_due() const {
    constexpr std::uint64_t too_much = 8;  // multiple of the limit while a follower copies the snapshot
    const std::size_t after = of_.settings().snapshot_after;
    return after != 0 && of_.bytes_to_replay() / (of_.is_copied() ? too_much : 1) > after && !of_.in_trouble();
}

void snapshots::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-snapshot");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    constexpr milliseconds between_looks{500}, longest_pause{60'000};
    milliseconds pause = between_looks;  // grows after each failure, because each has dumped everything in vain
    std::unique_lock lock{mutex_};
    while (!ending_) {
        changed_.wait_for(lock, pause, [this] { return ending_; });
        if (ending_) return;
        lock.unlock();
        if (is_due()) {
            const milliseconds waited = patience_;
            switch (take()) {
                case taken::kept: pause = between_looks; break;
                case taken::failed: pause = std::min(2 * pause, longest_pause); break;
                case taken::busy: pause = share_of_time * waited;
            }
        }
        lock.lock();
    }
}

void snapshots::note_busy() {
    if (patience_ == most_patience) {
        tell_("no snapshot was made: calls that cannot be interrupted ran for " + std::to_string(patience_.count()) +
              " ms; it is tried again");
    }
    patience_ = std::min(2 * patience_, most_patience);
}

/// Returns false if calls still ran.
bool snapshots::begin(dumping_process& child, std::uint64_t& position) {
    const auto began = std::chrono::steady_clock::now();
    position_finder at{*where_};
    const bool is_begun = child.start(base::now() + patience_, at);
    const auto pause = std::chrono::steady_clock::now() - began;
    of_.progress().note_pause(std::chrono::duration_cast<std::chrono::microseconds>(pause));
    if (is_begun) position = at.found.value_or(0);
    return is_begun;
}

/// Returns the reason if it was not kept; empty: it was.
std::string snapshots::keep(dumping_process& child, std::uint64_t position, std::uint64_t& bytes,
                            std::uint64_t& copied) noexcept {
    try {
        into_log to{of_};
        copied = child.read_into(to);
        to.end();
        bytes = to.bytes();
        return where_->keep(position);
    } catch (const std::exception& e) {
        return e.what();
    }
}

snapshots::taken snapshots::take() noexcept {
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
                note_busy();
                return taken::busy;
            }
            patience_ = least_patience;
            of_.progress().begin();
            {
                const std::scoped_lock lock{mutex_};
                child_ = &child;
                if (ending_) child.kill();
            }
            failed = keep(child, position, bytes, copied);
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
            of_.progress().give_up();
            return taken::failed;
        }
        of_.progress().end(bytes, copied, failed);
        if (failed.empty()) return taken::kept;
        tell_("no snapshot was kept: " + failed + ". The log is whole, and it is tried again");
    } catch (const std::exception&) {
        // There is no memory for the message.
    }
    return taken::failed;
}

void snapshots::take_last() noexcept {
    if (procedures_.kept().empty() || !of_.has_news() || of_.in_trouble()) return;
    try {
        of_.progress().begin();
        std::string failed;
        std::uint64_t bytes = 0;
        try {
            into_log to{of_};
            const std::optional<std::uint64_t> position = where_->now();
            if (!position) throw std::bad_alloc{};
            dump(procedures_, to);
            to.end();
            bytes = to.bytes();
            failed = where_->keep(*position);
        } catch (const std::exception& e) {
            failed = e.what();
        }
        of_.progress().end(bytes, 0, failed);
        if (!failed.empty()) tell_("no snapshot was kept: " + failed);
    } catch (const std::exception&) {
        // There is no memory for the message.
    }
}

}  // namespace tutti::server
