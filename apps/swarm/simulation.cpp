#include "swarm/simulation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "swarm/drawing.hpp"
#include "swarm/physics.hpp"

namespace swarm {
namespace {

using steady = std::chrono::steady_clock;

/// The end of a run: when its time is over, or at the first failure.
class finish {
public:
    explicit finish(steady::time_point end) : end_{end} {}
    [[nodiscard]] bool reached() const { return failed_.load(std::memory_order_relaxed) || steady::now() >= end_; }
    /// Sleeps until `then`, or until the end if that is earlier.
    void sleep_until(steady::time_point then) const { std::this_thread::sleep_until(std::min(then, end_)); }
    void fail(std::exception_ptr why) {
        const std::scoped_lock lock{mutex_};
        if (failure_ == nullptr) failure_ = std::move(why);
        failed_.store(true, std::memory_order_relaxed);
    }
    /// REQUIRES: the threads have ended.
    void rethrow() const {
        if (failure_ != nullptr) std::rethrow_exception(failure_);
    }

private:
    steady::time_point end_;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

struct step_count {
    std::uint64_t steps = 0;
    std::uint64_t restarts = 0;
};

/// Steps every `of`-th object in turn, at least one.
step_count run_physics(scene& world, unsigned number, unsigned of, const finish& end) {
    step_count count;
    const auto first = static_cast<object_id>(number % static_cast<unsigned>(world.size()));
    object_id id = first;
    do {
        count.restarts += step(world, id) - 1;
        ++count.steps;
        id = static_cast<int>(of) < world.size() - id ? id + static_cast<object_id>(of) : first;
    } while (!end.reached());
    return count;
}

void run_renderer(scene& world, const run_settings& settings, steady::time_point start, const finish& end,
                  run_result& result) {
    const tutti::options how = result.mode->options(settings.wanted);
    const std::chrono::duration<double> period{1 / settings.fps};
    const auto due = [&](double frame) { return start + std::chrono::duration_cast<steady::duration>(frame * period); };
    canvas picture;
    snapshot seen;
    double frame = 0;
    do {
        const steady::time_point begin = steady::now();
        const unsigned attempts = take_snapshot(world, how, seen);
        const std::chrono::nanoseconds took = steady::now() - begin;
        result.snapshot_times.push_back(took);
        result.snapshot_restarts += attempts - 1;
        if (took <= settings.wanted.deadline) ++result.in_time;
        if (const std::string violation = violation_in(seen, world); !violation.empty()) throw inconsistency{violation};
        picture.draw(seen, world.radius());
        if (settings.record) result.recording.push_back(seen);
        frame = std::max(frame + 1, std::ceil((steady::now() - start) / period));
        end.sleep_until(due(frame));
    } while (!end.reached());
}

double share(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

double run_result::success() const { return share(in_time, snapshot_times.size()); }
double run_result::frames_per_second() const { return static_cast<double>(snapshot_times.size()) / seconds; }
double run_result::restarts_per_snapshot() const { return share(snapshot_restarts, snapshot_times.size()); }
double run_result::retry_rate() const { return share(step_restarts, steps + step_restarts); }

std::chrono::nanoseconds run_result::percentile(double q) const {
    if (snapshot_times.empty()) return {};
    const double rank = std::ceil(q * static_cast<double>(snapshot_times.size()));
    return snapshot_times[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

run_result simulate(const run_settings& settings, const render_mode& mode) {
    scene world{settings.objects, settings.seed};
    run_result result;
    result.mode = &mode;
    result.threads = settings.threads;
    result.radius = world.radius();
    std::vector<step_count> counts(settings.threads);
    const steady::time_point start = steady::now();
    finish end{start + std::chrono::duration_cast<steady::duration>(settings.time)};
    const auto guarded = [&](auto part) {
        try {
            part();
        } catch (...) {
            end.fail(std::current_exception());
        }
    };
    {
        std::vector<std::jthread> threads;
        guarded([&] {
            for (unsigned i = 0; i < settings.threads; ++i) {
                threads.emplace_back(
                    [&, i] { guarded([&] { counts[i] = run_physics(world, i, settings.threads, end); }); });
            }
            run_renderer(world, settings, start, end, result);
        });
    }
    result.seconds = std::max(std::chrono::duration<double>(steady::now() - start), settings.time).count();
    try {
        end.rethrow();
    } catch (const inconsistency& e) {
        result.violation = e.what();
    }
    for (const step_count& one : counts) {
        result.steps += one.steps;
        result.step_restarts += one.restarts;
    }
    std::ranges::sort(result.snapshot_times);
    return result;
}

}  // namespace swarm
