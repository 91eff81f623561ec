// 1,024 accounts; four transactions in five transfer, one sums all: conflicts, long readers, statistics on and off.
#include <benchmark/benchmark.h>

#include <tutti/tutti.hpp>

namespace {

using tutti::atomically;
using tutti::tx;
using tutti::var;

var<long> accounts[1024];

void bank(benchmark::State& state) {
    auto random = static_cast<std::uint32_t>(state.thread_index()) * 2654435761U + 1;
    for (auto _ : state) {
        random = random * 1664525U + 1013904223U;
        if (random >> 24 < 51) {
            benchmark::DoNotOptimize(atomically({.name = "sum", .read_only = true}, [](tx& t) {
                long sum = 0;
                for (const auto& a : accounts) sum += a.get(t);
                return sum;
            }));
            continue;
        }
        var<long>& from = accounts[random >> 8 & 1023];
        var<long>& to = accounts[random >> 18 & 1023];
        atomically({.name = "transfer"}, [&](tx& t) {
            from.set(t, from.get(t) - 1);
            to.set(t, to.get(t) + 1);
        });
    }
}

void bank_counted(benchmark::State& state) {
    if (state.thread_index() == 0) tutti::enable_statistics(true);
    bank(state);
    if (state.thread_index() == 0) tutti::enable_statistics(false);
}

BENCHMARK(bank)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(bank_counted)->Name("bank/counted")->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
