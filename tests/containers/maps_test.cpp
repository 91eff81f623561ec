// hash_map and ordered_map against std::unordered_map and std::map, in one thread.
#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "containers/model.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/containers/ordered_map.hpp"

namespace tutti::containers {
namespace {

constexpr int common_steps = 12, ordered_steps = 19;
constexpr int keys = 400;

template <class Pair>
seen pair_seen(const Pair& p) {
    return p ? seen{number_of(p->first), number_of(p->second)} : seen{-1};
}

/// The operations that both kinds of map have.
template <class Map>
struct trial {
    using K = typename Map::key_type;
    using V = typename Map::mapped_type;

    static seen on(tx& t, Map& m, const step& s) {
        const K key = make<K>(s.key);
        switch (s.what) {
            case 0:
            case 1: return {m.insert(t, key, make<V>(s.value))};
            case 2: return {m.insert_or_assign(t, key, make<V>(s.value))};
            case 3: return {m.erase(t, key)};
            case 4: return {number_of(m.extract(t, key))};
            case 5: return {number_of(m.find(t, key))};
            case 6: return {m.contains(t, key), static_cast<long>(m.size(t)), m.empty(t)};
            case 7: try { return {number_of(m.at(t, key))};
                } catch (const std::out_of_range&) {
                    return {-2};
                }
            case 8:
                return {m.update(
                    t, key, [&](const V& v) { return make<V>(static_cast<int>((number_of(v) + s.value) % 1000)); })};
            case 9:
                if (s.key % 16 == 0) m.clear(t);
                return {};
            case 10: return {m.insert(key, make<V>(s.value)), number_of(m.find(key)), m.contains(key)};  // part of t
            default: {
                const bool all = s.key % 16 == 0;  // sometimes everything is erased
                m.for_each(t, [&](const K& k, const V& v) {
                    if (all || (number_of(k) + s.key) % 5 == 0) m.erase(t, k);
                    else if (number_of(v) % 7 == 0) m.insert_or_assign(t, k, make<V>(s.value));
                });
                return {};
            }
        }
    }
    template <class Model>
    static seen on(Model& m, const step& s) {
        const K key = make<K>(s.key);
        const auto at = m.find(key);
        switch (s.what) {
            case 0:
            case 1: return {m.emplace(key, make<V>(s.value)).second};
            case 2: return {m.insert_or_assign(key, make<V>(s.value)).second};
            case 3: return {static_cast<long>(m.erase(key))};
            case 4: {
                const long found = at != m.end() ? number_of(at->second) : -1;
                m.erase(key);
                return {found};
            }
            case 5: return {at != m.end() ? number_of(at->second) : -1};
            case 6: return {at != m.end(), static_cast<long>(m.size()), m.empty()};
            case 7: return {at != m.end() ? number_of(at->second) : -2};
            case 8:
                if (at != m.end()) at->second = make<V>(static_cast<int>((number_of(at->second) + s.value) % 1000));
                return {at != m.end()};
            case 9:
                if (s.key % 16 == 0) m.clear();
                return {};
            case 10: {
                const bool is_new = m.emplace(key, make<V>(s.value)).second;
                return {is_new, number_of(m.at(key)), true};
            }
            default: {
                const bool all = s.key % 16 == 0;
                std::erase_if(m, [&](const auto& e) { return all || (number_of(e.first) + s.key) % 5 == 0; });
                for (auto& [k, v] : m) {
                    if (number_of(v) % 7 == 0) v = make<V>(s.value);
                }
                return {};
            }
        }
    }
    static seen all(tx& t, Map& m) {
        seen held;
        m.for_each(t, [&](const K& k, const V& v) { held.push_back(number_of(k) * 1000 + number_of(v)); });
        RC_ASSERT(held.size() == m.size(t));
        if constexpr (!requires { m.lower_bound(t, make<K>(0)); }) std::ranges::sort(held);
        return held;
    }
    template <class Model>
    static seen all(const Model& m) {
        seen held;
        for (const auto& [k, v] : m) held.push_back(number_of(k) * 1000 + number_of(v));
        if constexpr (!requires { m.lower_bound(make<K>(0)); }) std::ranges::sort(held);
        return held;
    }
};

/// The additional operations of the ordered map.
template <class Map>
struct ordered_trial : trial<Map> {
    using typename trial<Map>::K;
    using typename trial<Map>::V;

    static seen on(tx& t, Map& m, const step& s) {
        const K key = make<K>(s.key);
        switch (s.what) {
            case 12: return pair_seen(m.lower_bound(t, key));
            case 13: return pair_seen(m.upper_bound(t, key));
            case 14: return pair_seen(m.front(t));
            case 15: return pair_seen(m.back(t));
            case 16: {
                seen passed;
                m.for_each(t, key, make<K>(s.value), [&](const K& k, const V& v) {
                    passed.push_back(number_of(k) + number_of(v));
                    return passed.size() < 20;
                });
                return passed;
            }
            case 17: return pair_seen(m.pop_front(t));
            case 18: return pair_seen(m.pop_back(t));
            default: return trial<Map>::on(t, m, s);
        }
    }
    template <class Model>
    static seen on(Model& m, const step& s) {
        const K key = make<K>(s.key);
        const auto entry = [&m](auto at) { return at != m.end() ? std::optional{*at} : std::nullopt; };
        switch (s.what) {
            case 12: return pair_seen(entry(m.lower_bound(key)));
            case 13: return pair_seen(entry(m.upper_bound(key)));
            case 14: return pair_seen(entry(m.begin()));
            case 15: return pair_seen(entry(m.empty() ? m.end() : std::prev(m.end())));
            case 16: {
                seen passed;
                for (auto i = m.lower_bound(key); i != m.end() && i->first < make<K>(s.value); ++i) {
                    passed.push_back(number_of(i->first) + number_of(i->second));
                    if (passed.size() == 20) break;
                }
                return passed;
            }
            case 17:
            case 18: {
                if (m.empty()) return {-1};
                const auto at = s.what == 17 ? m.begin() : std::prev(m.end());
                const seen popped{number_of(at->first), number_of(at->second)};
                m.erase(at);
                return popped;
            }
            default: return trial<Map>::on(m, s);
        }
    }
};

template <class K, class V>
void try_hash_map() {
    hash_map<K, V> subject;
    run<trial<hash_map<K, V>>>(*programs(common_steps, keys), subject, std::unordered_map<K, V>{});
}
template <class K, class V>
void try_ordered_map() {
    ordered_map<K, V> subject;
    run<ordered_trial<ordered_map<K, V>>>(*programs(ordered_steps, keys), subject, std::map<K, V>{});
}

RC_GTEST_PROP(hash_map_property, numbers, ()) { try_hash_map<long, long>(); }
RC_GTEST_PROP(hash_map_property, strings, ()) { try_hash_map<std::string, std::string>(); }
RC_GTEST_PROP(hash_map_property, shared_pointers, ()) { try_hash_map<int, std::shared_ptr<int>>(); }

/// Only four hash values, so that chains have equal ones.
struct poor_hash {
    std::size_t operator()(const std::string& s) const { return static_cast<unsigned char>(s.back()) % 4u; }
};
RC_GTEST_PROP(hash_map_property, equal_hashes, ()) {
    using map = hash_map<std::string, long, poor_hash>;
    map subject;
    run<trial<map>>(*programs(common_steps, keys), subject, std::unordered_map<std::string, long>{});
}

/// A hash and a comparison that allow look-ups of strings by views.
struct hash_of_view {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
template <class Map>
void look_up_by_views(Map& map) {
    using namespace std::string_view_literals;
    EXPECT_TRUE(map.insert("first", 1));
    atomically([&](tx& t) {
        EXPECT_EQ(map.find(t, "first"sv), 1);
        EXPECT_EQ(map.at(t, "first"sv), 1);
        EXPECT_FALSE(map.contains(t, "second"sv));
        EXPECT_TRUE(map.update(t, "first"sv, [](int v) { return v + 1; }));
        EXPECT_EQ(map.extract(t, "first"sv), 2);
        EXPECT_FALSE(map.erase(t, "first"sv));
    });
}
TEST(hash_map, finds_by_keys_of_other_types) {
    hash_map<std::string, int, hash_of_view, std::equal_to<>> map;
    look_up_by_views(map);
}
TEST(ordered_map, finds_by_keys_of_other_types) {
    ordered_map<std::string, int, std::less<>> map;
    look_up_by_views(map);
}

// Elements that are present all the time are found, whatever other threads insert and erase. In an ordered map, each is
// found once and in order.
template <class Map>
void scan(bool once_and_in_order) {
    Map map;
    constexpr long fixed = 500;
    for (long k = 0; k < fixed; ++k) map.insert(2 * k, k);
    std::atomic<bool> done{false};
    std::jthread others{[&] {
        for (long k = 0; !done.load(); k = (k + 7) % 20'000) {
            map.insert(2 * k + 1, k);
            map.erase(2 * ((k + 10'000) % 20'000) + 1);
        }
    }};
    for (int round = 0; round < 20; ++round) {
        std::map<long, int> met;
        long last = -1;
        map.for_each_weakly([&](long k, long v) {
            EXPECT_TRUE(k % 2 != 0 || v == k / 2) << k;
            ++met[k];
            EXPECT_TRUE(!once_and_in_order || k > last) << k;
            last = k;
        });
        for (long k = 0; k < fixed; ++k) EXPECT_GE(met[2 * k], 1) << k;
    }
    done = true;
}
TEST(hash_map, is_scanned_weakly_during_changes) { scan<hash_map<long, long>>(false); }
TEST(ordered_map, is_scanned_weakly_during_changes) { scan<ordered_map<long, long>>(true); }

RC_GTEST_PROP(ordered_map_property, numbers, ()) { try_ordered_map<long, long>(); }
RC_GTEST_PROP(ordered_map_property, strings, ()) { try_ordered_map<std::string, std::string>(); }
RC_GTEST_PROP(ordered_map_property, shared_pointers, ()) { try_ordered_map<int, std::shared_ptr<int>>(); }

/// Long runs of one kind build a tree of several levels, and take it down again.
enum class pattern { ascending, descending, scattered };
std::vector<long> sequence(pattern p, long n) {
    std::vector<long> keys_in_order;
    for (long i = 0; i < n; ++i) {
        keys_in_order.push_back(p == pattern::ascending ? i : p == pattern::descending ? n - 1 - i : i * 7919 % n);
    }
    return keys_in_order;
}

template <class Map>
void fill_and_drain(Map& map, pattern in, pattern out) {
    constexpr long n = 5000;  // coprime to the factor in `sequence`
    for (const long k : sequence(in, n)) {
        EXPECT_TRUE(atomically([&](tx& t) { return map.insert(t, k, -k); }));
    }
    EXPECT_EQ(atomically([&](tx& t) { return map.size(t); }), static_cast<std::size_t>(n));
    long left = n;
    for (const long k : sequence(out, n)) {
        EXPECT_EQ(atomically([&](tx& t) { return map.find(t, k); }), -k);
        EXPECT_TRUE(atomically([&](tx& t) { return map.erase(t, k); }));
        EXPECT_FALSE(atomically([&](tx& t) { return map.contains(t, k); }));
        if (--left % 1000 != 0) continue;
        EXPECT_EQ(atomically([&](tx& t) { return map.size(t); }), static_cast<std::size_t>(left));
    }
    EXPECT_TRUE(atomically([&](tx& t) { return map.empty(t); }));
}
template <class Map>
void fill_and_drain(Map& map) {
    constexpr std::array patterns{pattern::ascending, pattern::descending, pattern::scattered};
    for (const pattern in : patterns) {
        for (const pattern out : patterns) fill_and_drain(map, in, out);
    }
}

TEST(hash_map_growth, keeps_all_elements_until_empty_again) {
    hash_map<long, long> map;
    fill_and_drain(map);
}
TEST(hash_map_growth, keeps_all_elements_of_a_presized_map) {
    hash_map<long, long> map{1'000'000};
    fill_and_drain(map, pattern::ascending, pattern::scattered);  // the map is so large that no order makes it grow
}
TEST(ordered_map_growth, keeps_all_elements_until_empty_again) {
    ordered_map<long, long> map;
    fill_and_drain(map);
}
TEST(ordered_map_growth, keeps_the_top_of_a_stack_of_keys) {
    // Grows and shrinks across the boundary at which the rightmost nodes are created and removed.
    ordered_map<long, long> map;
    long top = 0;
    for (const long height : {300L, 250L, 280L, 10L, 600L, 0L}) {
        for (; top < height; ++top) atomically([&](tx& t) { map.insert(t, top, top); });
        for (; top > height; --top) atomically([&](tx& t) { map.erase(t, top - 1); });
        const auto size = atomically([&](tx& t) { return map.size(t); });
        EXPECT_EQ(size, static_cast<std::size_t>(height));
        const auto highest = atomically([&](tx& t) { return map.back(t); });
        EXPECT_EQ(highest ? highest->first : -1, height - 1);
    }
}

}  // namespace
}  // namespace tutti::containers
