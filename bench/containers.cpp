// Maps of 64 Ki keys under single-key operations: ours against those of the standard library under one mutex and
// against oneTBB's concurrent_hash_map. Two mixes: look-ups only; and 90 % look-ups, 5 % insertions, 5 % erasures.
//
// An iteration is a round: a crew of threads starts together, and every one does the same number of operations on keys
// at random, of which half are there. Its time is from the start of the first thread to the end of the last.
#include <benchmark/benchmark.h>
#include <tbb/concurrent_hash_map.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <latch>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/tutti.hpp>

namespace {

constexpr std::uint64_t keys = 64 * 1024;
constexpr int operations = 100'000;  // of each thread in a round

/// Vigna's splitmix64.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_{seed} {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_;
};

/// What is compared: find, insert and erase of one key, each atomic.
template <class Map>
class transactional {
public:
    bool find(std::uint64_t key) {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) { return map_.find(t, key).has_value(); });
    }
    void insert(std::uint64_t key) {
        tutti::atomically([&](tutti::tx& t) { map_.insert(t, key, key); });
    }
    void erase(std::uint64_t key) {
        tutti::atomically([&](tutti::tx& t) { map_.erase(t, key); });
    }

private:
    Map map_;
};

template <class Map>
class under_mutex {
public:
    bool find(std::uint64_t key) {
        const std::scoped_lock hold{mutex_};
        const auto at = map_.find(key);
        if (at != map_.end()) benchmark::DoNotOptimize(at->second);
        return at != map_.end();
    }
    void insert(std::uint64_t key) {
        const std::scoped_lock hold{mutex_};
        map_.emplace(key, key);
    }
    void erase(std::uint64_t key) {
        const std::scoped_lock hold{mutex_};
        map_.erase(key);
    }

private:
    std::mutex mutex_;
    Map map_;
};

class tbb_map {
public:
    bool find(std::uint64_t key) {
        map::const_accessor found;
        if (!map_.find(found, key)) return false;
        benchmark::DoNotOptimize(found->second);
        return true;
    }
    void insert(std::uint64_t key) { map_.insert({key, key}); }
    void erase(std::uint64_t key) { map_.erase(key); }

private:
    using map = tbb::concurrent_hash_map<std::uint64_t, std::uint64_t>;
    map map_;
};

/// The wall time of one round, in seconds.
template <class F>
double round_of(unsigned threads, F part) {
    using clock = std::chrono::steady_clock;
    std::vector<clock::time_point> began(threads), ended(threads);
    std::latch together{static_cast<std::ptrdiff_t>(threads)};
    {
        std::vector<std::jthread> crew;
        for (unsigned i = 0; i < threads; ++i) {
            crew.emplace_back([&, i] {
                together.arrive_and_wait();
                began[i] = clock::now();
                part(i);
                ended[i] = clock::now();
            });
        }
    }
    return std::chrono::duration<double>(*std::ranges::max_element(ended) - *std::ranges::min_element(began)).count();
}

template <class Subject>
void mixed(benchmark::State& state) {
    const auto threads = static_cast<unsigned>(state.range(0));
    const auto updates = static_cast<std::uint64_t>(state.range(1));  // in percent, half of them erasures
    Subject subject;
    for (std::uint64_t k = 0; k < keys; ++k) {
        if (dice{k}.next() % 2 == 0) subject.insert(k);
    }
    std::uint64_t seed = 1;
    for (auto _ : state) {
        const std::uint64_t first = seed;
        seed += threads;
        state.SetIterationTime(round_of(threads, [&](unsigned me) {
            dice random{first + me};
            long hits = 0;
            for (int i = 0; i < operations; ++i) {
                const std::uint64_t drawn = random.next();
                const std::uint64_t key = drawn % keys;
                const std::uint64_t what = (drawn >> 32) % 200;
                if (what >= 2 * updates) hits += subject.find(key) ? 1 : 0;
                else if (what < updates) subject.insert(key);
                else subject.erase(key);
            }
            benchmark::DoNotOptimize(hits);
        }));
    }
    state.SetItemsProcessed(state.iterations() * operations * threads);
}

void each_size(benchmark::internal::Benchmark* b) {
    b->ArgNames({"threads", "updates"})->ArgsProduct({{1, 2, 8}, {0, 10}})->UseManualTime();
}

using tutti_hash_map = transactional<tutti::hash_map<std::uint64_t, std::uint64_t>>;
using tutti_ordered_map = transactional<tutti::ordered_map<std::uint64_t, std::uint64_t>>;
using std_unordered_map = under_mutex<std::unordered_map<std::uint64_t, std::uint64_t>>;
using std_map = under_mutex<std::map<std::uint64_t, std::uint64_t>>;

BENCHMARK(mixed<tutti_hash_map>)->Name("map/tutti::hash_map")->Apply(each_size);
BENCHMARK(mixed<tbb_map>)->Name("map/tbb::concurrent_hash_map")->Apply(each_size);
BENCHMARK(mixed<std_unordered_map>)->Name("map/std::unordered_map")->Apply(each_size);
BENCHMARK(mixed<tutti_ordered_map>)->Name("map/tutti::ordered_map")->Apply(each_size);
BENCHMARK(mixed<std_map>)->Name("map/std::map")->Apply(each_size);

}  // namespace
