// What safe privatization of plain memory costs, and what waiving it saves.
#include <benchmark/benchmark.h>

#include <tutti/tutti.hpp>

namespace {

using tutti::atomically;
using tutti::privatization;
using tutti::tx;

struct alignas(128) slot {
    long value = 0;
};
slot slots[64];

template <privatization Private>
void update(benchmark::State& state) {
    long* const p = &slots[state.thread_index()].value;
    for (auto _ : state) {
        atomically({.privatization = Private}, [&](tx& t) { tutti::store(t, p, tutti::load(t, p) + 1); });
    }
}

void read(benchmark::State& state) {
    const long* const p = &slots[state.thread_index()].value;
    for (auto _ : state) benchmark::DoNotOptimize(atomically([&](tx& t) { return tutti::load(t, p); }));
}

BENCHMARK(read)->Name("plain_read")->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(update<privatization::safe>)->Name("plain_update/safe")->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(update<privatization::waived>)->Name("plain_update/waived")->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
