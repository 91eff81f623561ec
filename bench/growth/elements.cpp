// Containers that grow: a random look-up, after several ways to fill them, and the filling itself.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>

#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/retry.hpp>
#include <tutti/tutti.hpp>

#include "growth/curves.hpp"
#include "growth/timing.hpp"
#include "harness/random.hpp"

namespace bench::growth {
namespace {

using tutti::tx;
using word = std::uint64_t;
using hash_map = tutti::hash_map<word, word>;
using ordered_map = tutti::ordered_map<word, word>;

/// REQUIRES: all keys from 0 to below the point's size are in the container.
template <class Look>
double look_up_at_random(const point& p, const Look& look) {
    random_numbers random{1};
    bool all_found = true;
    const double time = time_of(p, [&] { all_found &= look(below(static_cast<unsigned>(p.size), random())); });
    require(all_found, "an element was not found");
    return time;
}

/// `fill(map, size)` inserts the keys from 0 to below `size`.
template <class Map, class Fill>
double look_up(const point& p, const Fill& fill) {
    Map map;
    fill(map, p.size);
    return look_up_at_random(p, [&map](word key) {
        return tutti::atomically({.read_only = true}, [&map, key](tx& t) { return map.find(t, key).has_value(); });
    });
}

constexpr auto one_by_one = [](auto& map, std::size_t size) {
    for (word key = 0; key != size; ++key) tutti::atomically([&map, key](tx& t) { map.insert(t, key, key); });
};
constexpr auto in_one_block = [](auto& map, std::size_t size) {
    tutti::atomically([&map, size](tx& t) {
        for (word key = 0; key != size; ++key) map.insert(t, key, key);
    });
};
/// Each block restarts before it inserts, as in a conflict.
constexpr auto restarted = [](auto& map, std::size_t size) {
    for (word key = 0; key != size; ++key) {
        tutti::atomically([&map, key](tx& t) {
            if (t.attempt() == 1) tutti::restart(t);
            map.insert(t, key, key);
        });
    }
};
/// Fills from a consumer that has begun to wait for each key, and is woken by another thread.
constexpr auto woken = [](auto& map, std::size_t size) {
    tutti::var<word> slot{0};
    std::atomic<std::size_t> waits{0};
    std::jthread consumer{[&] {
        for (std::size_t key = 0; key != size; ++key) {
            tutti::atomically([&](tx& t) {
                const word next = slot.get(t);
                if (next == 0) {
                    waits.store(key + 1);
                    waits.notify_one();
                    tutti::retry(t);
                }
                map.insert(t, next - 1, next);
                slot.set(t, 0);
            });
        }
    }};
    for (word key = 0; key != size; ++key) {
        waits.wait(key);
        tutti::atomically([&](tx& t) { slot.set(t, key + 1); });
    }
};

template <class Map, auto Fill>
double look_up_in(const point& p) {
    return look_up<Map>(p, Fill);
}
template <class Map>
double look_up_without(const point& p) {
    Map map;
    for (word key = 0; key != p.size; ++key) map.emplace(key, key);
    return look_up_at_random(p, [&map](word key) { return map.contains(key); });
}

/// Fills new maps each time, so many that the cost of the clock is small.
template <class Map, auto Fill>
double fill(const point& p) {
    const std::size_t several = 1 + 1000 / p.size;
    const double time = median_of(p, [&] {
        const auto maps = std::make_unique<Map[]>(several);
        const double before = thread_seconds();
        for (std::size_t i = 0; i != several; ++i) Fill(maps[i], p.size);
        return thread_seconds() - before;
    });
    return time / static_cast<double>(several);
}
constexpr auto emplace_all = [](auto& map, std::size_t size) {
    for (word key = 0; key != size; ++key) map.emplace(key, key);
};

using std_hash = std::unordered_map<word, word>;
using std_ordered = std::map<word, word>;
constexpr auto constant = due::constant;

[[maybe_unused]] const bool added = add({
    {.family = "elements",
     .name = "hash-map",
     .of = "a look-up",
     .over = "elements",
     .expected = constant,
     .run = look_up_in<hash_map, one_by_one>,
     .without = look_up_without<std_hash>},
    {.family = "elements",
     .name = "hash-map-restarted",
     .of = "a look-up, insertions restarted",
     .over = "elements",
     .expected = constant,
     .run = look_up_in<hash_map, restarted>,
     .beside = "hash-map"},
    {.family = "elements",
     .name = "hash-map-woken",
     .of = "a look-up, insertions woken",
     .over = "elements",
     .expected = constant,
     .largest = 100'000,
     .run = look_up_in<hash_map, woken>,
     .threads = true,
     .beside = "hash-map"},
    {.family = "elements",
     .name = "hash-map-one-block",
     .of = "a look-up, one block inserted all",
     .over = "elements",
     .expected = constant,
     .run = look_up_in<hash_map, in_one_block>,
     .beside = "hash-map"},
    {.family = "elements",
     .name = "hash-map-fill",
     .of = "an insertion",
     .over = "elements",
     .run = fill<hash_map, one_by_one>,
     .without = fill<std_hash, emplace_all>},
    {.family = "elements",
     .name = "ordered-map",
     .of = "a look-up",
     .over = "elements",
     .expected = constant,
     .run = look_up_in<ordered_map, one_by_one>,
     .without = look_up_without<std_ordered>},
    {.family = "elements",
     .name = "ordered-map-fill",
     .of = "an insertion",
     .over = "elements",
     .run = fill<ordered_map, one_by_one>,
     .without = fill<std_ordered, emplace_all>},
});

}  // namespace
}  // namespace bench::growth
