#include "tpcc/driver.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tpcc/deck.hpp"
#include "tpcc/inputs.hpp"
#include "tpcc/profiles.hpp"

namespace tpcc {
namespace {

using steady = std::chrono::steady_clock;

class worker {
public:
    worker(database& db, const run_settings& settings, unsigned number)
        : db_{db},
          random_{derive_seed(settings.seed, purpose::worker, 2 * number)},
          inputs_{db, random_source{derive_seed(settings.seed, purpose::worker, 2 * number + 1)}},
          deck_{settings.mix} {}

    void run_one() {
        const warehouse_id home = random_.uniform(1, db_.warehouse_count());
        switch (deck_.draw(random_)) {
            case profile::new_order: return timed(profile::new_order, inputs_.new_order(home), new_order);
            case profile::payment: return timed(profile::payment, inputs_.payment(home), payment);
            case profile::order_status: return timed(profile::order_status, inputs_.order_status(home), order_status);
            case profile::delivery: return timed(profile::delivery, inputs_.delivery(home), delivery);
            case profile::stock_level: {
                const district_id terminal = random_.uniform(1, districts_per_warehouse);
                return timed(profile::stock_level, inputs_.stock_level(home, terminal), stock_level);
            }
        }
    }

    [[nodiscard]] const std::array<profile_statistics, profile_count>& statistics() const { return statistics_; }

private:
    static bool committed(const std::optional<new_order_result>& r) { return r.has_value(); }
    template <class Result>
    static bool committed(const Result&) {
        return true;
    }

    template <class Input, class Result>
    void timed(profile which, const Input& in, execution<Result> (*transaction)(database&, const Input&)) {
        const steady::time_point begin = steady::now();
        const execution<Result> done = transaction(db_, in);
        const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(steady::now() - begin);
        profile_statistics& counted = statistics_[static_cast<std::size_t>(which)];
        ++(committed(done.result) ? counted.commits : counted.rolled_back);
        counted.restarts += done.attempts - 1;
        counted.turnaround.add(static_cast<std::uint64_t>(took.count()));
    }

    database& db_;
    random_source random_;
    input_source inputs_;
    deck deck_;
    std::array<profile_statistics, profile_count> statistics_;
};

/// Ends a run: when its time is over, when every worker has finished its transactions, or at the first exception.
class finish {
public:
    explicit finish(unsigned workers) : working_{workers} {}
    [[nodiscard]] bool reached() const { return stop_.load(std::memory_order_relaxed); }
    void fail(std::exception_ptr why) {
        const std::scoped_lock lock{mutex_};
        if (failure_ == nullptr) failure_ = std::move(why);
        stop_.store(true, std::memory_order_relaxed);
        changed_.notify_all();
    }
    /// Called by a worker that has finished its transactions.
    void leave() {
        const std::scoped_lock lock{mutex_};
        if (--working_ == 0) changed_.notify_all();
    }
    void after(std::chrono::duration<double> time) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, time, [&] { return failure_ != nullptr || working_ == 0; });
        stop_.store(true, std::memory_order_relaxed);
    }
    /// REQUIRES: the workers have ended.
    void rethrow() const {
        if (failure_ != nullptr) std::rethrow_exception(failure_);
    }

private:
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned working_;
    std::exception_ptr failure_;
};

}  // namespace

void profile_statistics::merge(const profile_statistics& other) {
    commits += other.commits;
    rolled_back += other.rolled_back;
    restarts += other.restarts;
    turnaround.merge(other.turnaround);
}

run_result run_mix(database& db, const run_settings& settings) {
    finish end{settings.threads};
    std::vector<run_result> results(settings.threads);
    const auto work = [&](unsigned number) {
        try {
            worker me{db, settings, number};
            for (std::uint64_t i = 0; i != settings.transactions && !end.reached(); ++i) me.run_one();
            results[number].profiles = me.statistics();
            end.leave();
        } catch (...) {
            end.fail(std::current_exception());
        }
    };

    const steady::time_point begin = steady::now();
    {
        std::vector<std::jthread> threads;
        try {
            for (unsigned i = 0; i < settings.threads; ++i) threads.emplace_back(work, i);
            end.after(settings.time);
        } catch (...) {
            end.fail(std::current_exception());  // the system cannot create more threads
        }
    }
    end.rethrow();

    run_result all;
    all.seconds = std::chrono::duration<double>(steady::now() - begin).count();
    for (const run_result& one : results) {
        for (std::size_t p = 0; p < profile_count; ++p) all.profiles[p].merge(one.profiles[p]);
    }
    return all;
}

}  // namespace tpcc
