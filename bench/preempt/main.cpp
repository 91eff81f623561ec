// The latencies of high-priority work beside long transactions, by tick source.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "preempt/command_line.hpp"
#include "preempt/kernel_device.hpp"
#include "preempt/procedures.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/thread_locals.hpp"

namespace {

using namespace tutti_bench;
using tutti::preempt::scheduler;

struct figures {
    std::vector<double> dispatch;    // from submit to the first instruction, in microseconds
    std::vector<double> turnaround;  // from submit to the end, in microseconds
    std::uint64_t preemptions = 0;
    std::uint64_t long_ones = 0;
};

double quantile(std::vector<double>& of, double q) {
    if (of.empty()) return 0;
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(of.size() - 1));
    std::ranges::nth_element(of, at);
    return *at;
}

void sleep_for(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }

/// Measures for some milliseconds with one source, and appends to the figures.
void measure(const char* source, bool reads, unsigned workers, std::chrono::milliseconds time, figures& into) {
    const double microseconds_per_tick = tutti::base::nanoseconds_per_tick() / 1000;
    scheduler s{{.workers = workers, .tick_source = source}};
    s.application().add_object_of(reinterpret_cast<const void*>(&run_long));
    std::deque<long_transaction> busy;
    for (unsigned i = 0; i < workers; ++i) {
        busy.emplace_back(static_cast<std::uint64_t>(5000 / microseconds_per_tick), reads);
    }
    tutti::var<long> total{0};
    const auto end = tutti::base::now() + time;
    unsigned random = 1;
    while (tutti::base::now() < end) {
        for (long_transaction& l : busy) {
            if (!l.done.exchange(false)) continue;
            if (s.submit({run_long, &l, 1})) ++into.long_ones;
        }
        random = random * 1103515245 + 12345;
        sleep_for(std::chrono::microseconds{200 + (random >> 16) % 800});
        probe p{&total};
        p.submitted = tutti::base::ticks();
        if (!s.submit({run_probe, &p, 5})) continue;
        while (!p.done.load(std::memory_order_acquire)) sleep_for(std::chrono::microseconds{20});
        into.dispatch.push_back(static_cast<double>(p.started - p.submitted) * microseconds_per_tick);
        into.turnaround.push_back(static_cast<double>(p.ended - p.submitted) * microseconds_per_tick);
    }
    s.drain();
    into.preemptions += s.statistics().preemptions;
}

void report(const char* source, figures& f, figures& baseline) {
    const double d50 = quantile(f.dispatch, 0.5), d99 = quantile(f.dispatch, 0.99);
    const double t50 = quantile(f.turnaround, 0.5), t99 = quantile(f.turnaround, 0.99);
    std::printf("%-10s %7zu %9.1f %9.1f %9.1f %9.1f %10.1f %11lu %6lu\n", source, f.dispatch.size(), d50, d99, t50, t99,
                quantile(baseline.turnaround, 0.99) / t99, f.preemptions, f.long_ones);
}

int measure_all(const preempt_options& wanted) {
    const unsigned workers = std::max(2u, std::thread::hardware_concurrency()) - 1;
    std::vector<const char*> sources{"none", "on-demand", "periodic"};
    if (tutti::preempt::kernel_device_problem().empty()) sources.push_back("kernel");
    static_cast<void>(tutti::base::nanoseconds_per_tick());
    sleep_for(std::chrono::microseconds{100'000});  // for the clock's calibration
    for (const bool reads : {false, true}) {
        std::vector<figures> f(sources.size());
        // In turns, so that disturbances affect all sources.
        for (int turn = 0; turn < 5; ++turn) {
            for (std::size_t i = 0; i < f.size(); ++i) measure(sources[i], reads, workers, wanted.time / 5, f[i]);
        }
        std::printf("\n%u worker%s busy with transactions of 5 ms that %s; priority 5 in microseconds\n", workers,
                    workers == 1 ? "" : "s", reads ? "write all the time" : "compute");
        std::printf("%-10s %7s %9s %9s %9s %9s %10s %11s %6s\n", "ticks", "probes", "start p50", "p99", "done p50",
                    "p99", "base p99 /", "preemptions", "long");
        for (std::size_t i = 0; i < f.size(); ++i) report(sources[i], f[i], f[0]);
    }
    measure_thread_locals();
    return cli::success;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-bench-preempt", "end what else runs", [&] { return parse_command_line(argc, argv); }, measure_all);
}
