// Maps from integers to integers, ours and those of others. An engine here has a class `map` with
//
//   find(key), insert(key, value), erase(key)   each atomic; return whether the key was there, was new, was there
//   move(from, to)                              atomic, too: the value of one key becomes that of another, new key;
//                                               only if `moves` is true
//   all()                                       the contents, while no other thread runs
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/tutti.hpp>

namespace bench {

using map_word = std::uint64_t;

struct map_contents {
    std::int64_t count = 0;
    map_word sum = 0;  ///< of the values
    void add(map_word value) {
        ++count;
        sum += value;
    }
};

struct map_engine {
    static constexpr bool concurrent = true;
    static constexpr bool moves = true;
    struct session {};
};

template <class Map>
class transactional_map {
public:
    bool find(map_word key) {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) { return map_.find(t, key).has_value(); });
    }
    bool insert(map_word key, map_word value) {
        return tutti::atomically([&](tutti::tx& t) { return map_.insert(t, key, value); });
    }
    bool erase(map_word key) {
        return tutti::atomically([&](tutti::tx& t) { return map_.erase(t, key); });
    }
    bool move(map_word from, map_word to) {
        return tutti::atomically([&](tutti::tx& t) {
            if (map_.contains(t, to)) return false;
            const std::optional<map_word> value = map_.extract(t, from);
            return value && map_.insert(t, to, *value);
        });
    }
    map_contents all() {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            map_contents c;
            map_.for_each(t, [&c](map_word, map_word value) { c.add(value); });
            return c;
        });
    }

private:
    Map map_;
};

template <class Map>
class locked_map {
public:
    bool find(map_word key) {
        const std::scoped_lock hold{mutex_};
        const auto at = map_.find(key);
        if (at == map_.end()) return false;
        benchmark::DoNotOptimize(at->second);
        return true;
    }
    bool insert(map_word key, map_word value) {
        const std::scoped_lock hold{mutex_};
        return map_.emplace(key, value).second;
    }
    bool erase(map_word key) {
        const std::scoped_lock hold{mutex_};
        return map_.erase(key) != 0;
    }
    bool move(map_word from, map_word to) {
        const std::scoped_lock hold{mutex_};
        const auto at = map_.find(from);
        if (at == map_.end() || !map_.emplace(to, at->second).second) return false;
        map_.erase(from);
        return true;
    }
    map_contents all() const {
        map_contents c;
        for (const auto& [key, value] : map_) c.add(value);
        return c;
    }

private:
    std::mutex mutex_;
    Map map_;
};

struct tutti_hash_map : map_engine {
    static constexpr const char* name = "tutti-hash";
    using map = transactional_map<tutti::hash_map<map_word, map_word>>;
};
struct tutti_ordered_map : map_engine {
    static constexpr const char* name = "tutti-ordered";
    using map = transactional_map<tutti::ordered_map<map_word, map_word>>;
};
struct std_unordered_map : map_engine {
    static constexpr const char* name = "std-unordered";
    using map = locked_map<std::unordered_map<map_word, map_word>>;
};
struct std_map : map_engine {
    static constexpr const char* name = "std-map";
    using map = locked_map<std::map<map_word, map_word>>;
};

}  // namespace bench
