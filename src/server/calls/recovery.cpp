#include "server/calls/recovery.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "server/calls/dump.hpp"
#include "server/calls/invocation.hpp"
#include "server/journal/record.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

class reader final : public snapshot_reader {
public:
    explicit reader(const std::vector<std::string>& from) : from_{from} {}
    std::optional<std::string_view> next() override {
        if (at_ == from_.size()) return std::nullopt;
        return from_[at_++];
    }

private:
    const std::vector<std::string>& from_;
    std::size_t at_ = 0;
};

void load_all(journal::log_store& from, const catalog& procedures, recovery_result& sum) {
    std::string name;
    std::vector<std::string> pieces;  // consecutive pieces of the same name
    const auto hand_in = [&] {
        if (pieces.empty()) return;
        const auto found = std::ranges::find(procedures.all_snapshot_hooks(), name, &snapshot_hooks::name);
        if (found == procedures.all_snapshot_hooks().end())
            throw std::runtime_error{"the snapshot contains the data '" + name +
                                     "', for which no procedure has registered at_snapshot"};
        reader r{pieces};
        found->load(r);
        sum.snapshot_pieces += pieces.size();
        pieces.clear();
    };
    from.read_snapshot([&](std::string_view piece) {
        const auto [whose, bytes] = name_and_bytes(piece);
        if (whose != name) hand_in();
        name = whose;
        pieces.emplace_back(bytes);
    });
    hand_in();
}

void run_record(const journal::record& r, const catalog& procedures) {
    const auto known = [&](std::string_view name) {
        const procedure_entry* const e = procedures.find(name);
        if (e == nullptr) throw std::runtime_error{"the procedure '" + std::string{name} + "' no longer exists"};
        return e;
    };
    invocation what{.how = {}, .spoken = static_cast<protocol>(r.protocol)};
    what.entry = r.is_exec ? procedures.exec_entry() : known(r.calls.front().procedure);
    if (r.is_exec) {
        for (const journal::recorded_call& p : r.calls) what.queued_calls.push_back({known(p.procedure), p.arguments});
    }
    call how;
    how.priority = r.priority;
    how.began = r.time;
    how.seed = r.seed;
    how.replayed = true;
    std::string answer;
    run_again(what, how, r.arguments, answer);
    if (journal::checksum(answer, r.answer_by) == r.answer) return;
    throw std::runtime_error{"its answer differs from the first run, now '" +
                             answer.substr(0, std::min<std::size_t>(answer.find('\r'), 100)) +
                             "': it depends on something that is not in the log, or the procedure has changed"};
}

}  // namespace

/// Interrupts the calling thread's transactions when one call of the log takes too long, because such a call would wait
/// forever.
class replay::replay_watchdog {
public:
    explicit replay_watchdog(milliseconds time_limit) : thread_{[this, time_limit] { watch(time_limit); }} {}
    ~replay_watchdog() {
        {
            const std::scoped_lock lock{mutex_};
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    replay_watchdog(const replay_watchdog&) = delete;
    replay_watchdog& operator=(const replay_watchdog&) = delete;

    void next_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }

private:
    void watch(milliseconds time_limit) {
        std::unique_lock lock{mutex_};
        for (std::uint64_t seen = ~std::uint64_t{0}; !over_;) {
            changed_.wait_for(lock, time_limit, [this] { return over_; });
            const std::uint64_t now = calls_.load(std::memory_order_relaxed);
            if (!over_ && now == seen) mine_.raise();
            seen = now;
        }
    }

    interruption mine_;  // of the thread that created this object
    std::atomic<std::uint64_t> calls_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

replay::replay(const catalog& procedures, milliseconds time_limit)
    : procedures_{procedures}, watchdog_{std::make_unique<replay_watchdog>(time_limit)} {}

replay::~replay() = default;

std::uint64_t replay::run(std::string_view group, std::uint64_t first) {
    std::uint64_t calls = 0;
    while (!group.empty()) {
        const journal::record r = journal::decode(group);
        if (r.position < first) continue;
        watchdog_->next_call();
        try {
            run_record(r, procedures_);
        } catch (const std::exception& e) {
            throw std::runtime_error{"call " + std::to_string(r.position) + " of the log, " +
                                     std::string{r.calls.front().procedure} + ", cannot be run again: " + e.what()};
        }
        ++calls;
    }
    return calls;
}

recovery_result recover(journal::journal& from, const catalog& procedures, milliseconds time_limit) {
    recovery_result sum;
    load_all(from.file(), procedures, sum);
    replay again{procedures, time_limit};  // limits each call; a load may take any time
    const std::uint64_t first = from.file().snapshot_position();
    from.file().read_groups([&](std::string_view group) { sum.calls += again.run(group, first); });
    return sum;
}

}  // namespace tutti::server
