// Maps of 64 Ki possible keys, half of them present, in three ways. Look-ups only. 90 % look-ups, 5 % insertions and 5
// % erasures. Moves of a value from one key to another, only for engines that can combine two operations.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker_group.hpp"

namespace bench {

constexpr unsigned map_keys = 64 * 1024;

/// 0, 1, 2 …, the best case for a hash that is the number itself; or numbers that look random.
enum class key_kind : std::uint8_t { dense, scattered };

inline std::uint64_t map_key(key_kind kind, unsigned index) {
    return kind == key_kind::dense ? index : random_numbers{index + 1U}();
}

template <class Map>
void fill_half_of_map(Map& map, key_kind kind) {
    random_numbers random{1};
    for (unsigned n = 0; n < map_keys / 2;) n += map.insert(map_key(kind, below(map_keys, random())), n);
}

/// The invariant sum is the growth of the map.
template <class Map>
thread_result work_on_map(Map& map, key_kind kind, unsigned update_percent, unsigned index, const stop_flag& stop) {
    random_numbers random{index + 2};
    std::uint64_t found = 0;
    thread_result done;
    done.operations = repeat(stop, [&] {
        const std::uint64_t bits = random();
        const std::uint64_t key = map_key(kind, below(map_keys, bits));
        const unsigned chance = below(200, bits >> 32);
        if (chance >= 2 * update_percent) {
            found += map.find(key);
        } else if (chance % 2 == 0) {
            done.invariant_sum += map.insert(key, bits);
        } else {
            done.invariant_sum -= map.erase(key);
        }
    });
    benchmark::DoNotOptimize(found);
    return done;
}

template <class E>
outcome run_map(const plan& how, key_kind kind, unsigned update_percent) {
    const auto map = std::make_unique<typename E::map>();
    fill_half_of_map(*map, kind);
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        return work_on_map(*map, kind, update_percent, index, stop);
    });
    const auto left = map->all().count;
    const auto due = map_keys / 2 + result.invariant_sum;
    if (left != due)
        result.broken = std::to_string(due) + " keys should be left, but there are " + std::to_string(left);
    return result;
}

template <class E>
outcome run_moves(const plan& how, key_kind kind) {
    const auto map = std::make_unique<typename E::map>();
    fill_half_of_map(*map, kind);
    const map_contents before = map->all();
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        done.operations = repeat(stop, [&] {
            const std::uint64_t bits = random();
            done.invariant_sum +=
                map->move(map_key(kind, below(map_keys, bits)), map_key(kind, below(map_keys, bits >> 32)));
        });
        return done;
    });
    const map_contents after = map->all();
    if (after.count != before.count || after.sum != before.sum) result.broken = "a value was lost or came twice";
    return result;
}

template <class E>
void add_maps() {
    for (const auto& [kind, of] : {std::pair{key_kind::dense, "dense"}, std::pair{key_kind::scattered, "scattered"}}) {
        for (const unsigned percent : {0U, 10U}) {
            add_case<E>("containers", std::string{of} + "-" + std::to_string(percent),
                        [kind, percent](const plan& how) { return run_map<E>(how, kind, percent); });
        }
        if constexpr (E::moves) {
            add_case<E>("containers", std::string{of} + "-move",
                        [kind](const plan& how) { return run_moves<E>(how, kind); });
        }
    }
}

}  // namespace bench
