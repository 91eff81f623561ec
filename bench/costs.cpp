// What a transaction costs that meets nobody, with and without statistics.
#include <benchmark/benchmark.h>

#include <tutti/tutti.hpp>

namespace {

using tutti::atomically;
using tutti::tx;
using tutti::var;

/// One a thread, lines apart: private data must not meet.
struct alignas(128) slot {
    var<long> value{0};
};
slot slots[64];

void empty(benchmark::State& state) {
    for (auto _ : state) atomically([](tx&) {});
}

void one_read(benchmark::State& state) {
    var<long>& v = slots[state.thread_index()].value;
    for (auto _ : state) benchmark::DoNotOptimize(atomically([&](tx& t) { return v.get(t); }));
}

void one_read_read_only(benchmark::State& state) {
    var<long>& v = slots[state.thread_index()].value;
    for (auto _ : state) benchmark::DoNotOptimize(atomically({.read_only = true}, [&](tx& t) { return v.get(t); }));
}

void read_and_write(benchmark::State& state) {
    var<long>& v = slots[state.thread_index()].value;
    for (auto _ : state) atomically([&](tx& t) { v.set(t, v.get(t) + 1); });
}

void nested_read_and_write(benchmark::State& state) {
    var<long>& v = slots[state.thread_index()].value;
    for (auto _ : state) atomically([&](tx& t) { atomically([&](tx&) { v.set(t, v.get(t) + 1); }); });
}

void one_counter_for_all(benchmark::State& state) {
    static var<long> v{0};
    for (auto _ : state) atomically([&](tx& t) { v.set(t, v.get(t) + 1); });
}

void sum_of_1024(benchmark::State& state) {
    static var<long> values[1024];
    for (auto _ : state) {
        benchmark::DoNotOptimize(atomically({.read_only = true}, [&](tx& t) {
            long sum = 0;
            for (const auto& v : values) sum += v.get(t);
            return sum;
        }));
    }
}

/// The same with statistics on: compare with its namesake.
template <void (*Body)(benchmark::State&)>
void counted(benchmark::State& state) {
    if (state.thread_index() == 0) tutti::enable_statistics(true);
    Body(state);
    if (state.thread_index() == 0) tutti::enable_statistics(false);
}

BENCHMARK(empty);
BENCHMARK(counted<empty>)->Name("empty/counted");
BENCHMARK(one_read);
BENCHMARK(one_read_read_only);
BENCHMARK(read_and_write)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(counted<read_and_write>)->Name("read_and_write/counted")->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(nested_read_and_write);
BENCHMARK(one_counter_for_all)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(sum_of_1024);
BENCHMARK(counted<sum_of_1024>)->Name("sum_of_1024/counted");

}  // namespace
