// Many threads on shared containers. Each test keeps an invariant that interleaved transactions cannot break. Moved
// elements are conserved, the sums of each thread's insertions and erasures are correct for each key, and queues
// deliver everything once and in order. Catches a look-up that follows a stale bucket, an update of a replaced leaf,
// and a pop that takes an element of another pop.
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "anomalies/flavour.hpp"
#include "support/random.hpp"
#include "tutti/containers/bounded_queue.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"

namespace tutti::containers {
namespace {

using anomalies::rounds;
using anomalies::run_threads;
using anomalies::violations;

class conservation : public anomalies::suite {};

template <class Map>
class conservation_in_a_map : public anomalies::suite {};
using maps = ::testing::Types<hash_map<long, long>, ordered_map<long, long>, hash_map<std::string, std::string>,
                              ordered_map<std::string, std::string>>;
TYPED_TEST_SUITE(conservation_in_a_map, maps);

template <class T>
T make(long from) {
    if constexpr (std::is_same_v<T, std::string>) return "a text too long for the small buffer " + std::to_string(from);
    else return from;
}
long number_of(long v) { return v; }
long number_of(const std::string& v) { return std::stol(v.substr(v.rfind(' '))); }

// Every thread sums up its insertions and erasures, key by key. The sums determine the final content.
TYPED_TEST(conservation_in_a_map, insertions_and_erasures_add_up_for_each_key) {
    using K = typename TypeParam::key_type;
    using V = typename TypeParam::mapped_type;
    constexpr std::size_t keys = 300, threads = 4;
    TypeParam map;
    std::array<std::array<long, keys>, threads> net{};
    run_threads(threads, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < rounds(20000); ++i) {
            // Some transactions consist of several steps.
            std::array<std::size_t, 3> chosen{};
            const std::size_t steps = 1 + dice.below(chosen.size());
            for (std::size_t& k : chosen) k = dice.below(keys);
            const std::uint64_t coins = dice.next();
            std::array<long, 3> change{};
            atomically([&](tx& t) {
                for (std::size_t s = 0; s < steps; ++s) {
                    const K key = make<K>(static_cast<long>(chosen[s]));
                    if ((coins >> s & 1) != 0) change[s] = map.insert(t, key, make<V>(0)) ? 1 : 0;
                    else change[s] = map.erase(t, key) ? -1 : 0;
                }
            });
            for (std::size_t s = 0; s < steps; ++s) net[me][chosen[s]] += change[s];
        }
    });
    std::size_t expected = 0;
    for (std::size_t k = 0; k < keys; ++k) {
        long sum = 0;
        for (const auto& of : net) sum += of[k];
        EXPECT_TRUE(sum == 0 || sum == 1) << k;
        const bool there = atomically([&](tx& t) { return map.contains(t, make<K>(static_cast<long>(k))); });
        EXPECT_EQ(there, sum == 1) << k;
        expected += sum == 1 ? 1 : 0;
    }
    EXPECT_EQ(atomically([&](tx& t) { return map.size(t); }), expected);
}

// A transaction inserts 1 for an absent key, and otherwise adds 1. No update is lost, whether the key is new or not.
TYPED_TEST(conservation_in_a_map, increments_add_up) {
    using K = typename TypeParam::key_type;
    using V = typename TypeParam::mapped_type;
    constexpr std::size_t keys = 40;
    const std::size_t each = rounds(12000);
    TypeParam map;
    run_threads(4, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < each; ++i) {
            const K key = make<K>(static_cast<long>(dice.below(keys)));
            atomically([&](tx& t) {
                const auto before = map.find(t, key);
                map.insert_or_assign(t, key, make<V>(before ? number_of(*before) + 1 : 1));
            });
        }
    });
    long sum = 0;
    atomically({.read_only = true}, [&](tx& t) {
        sum = 0;
        map.for_each(t, [&](const K&, const V& v) { sum += number_of(v); });
    });
    EXPECT_EQ(sum, static_cast<long>(4 * each));
}

// The map grows from empty while other threads look up present and absent keys.
TYPED_TEST(conservation_in_a_map, growth_hides_nothing) {
    using K = typename TypeParam::key_type;
    using V = typename TypeParam::mapped_type;
    constexpr long writers = 2;
    const auto each = static_cast<long>(rounds(25000));
    TypeParam map;
    std::array<std::atomic<long>, writers> done{};
    violations lost;
    run_threads(4, [&](unsigned me) {
        if (me < writers) {
            for (long i = 0; i < each; ++i) {
                const K key = make<K>(i * writers + static_cast<long>(me));
                lost.expect(atomically([&](tx& t) { return map.insert(t, key, make<V>(i)); }));
                done[me].store(i + 1, std::memory_order_release);
            }
            return;
        }
        support::random dice{me};
        for (long seen = 0; seen < each;) {
            const std::size_t whose = dice.below(writers);
            seen = done[whose].load(std::memory_order_acquire);
            if (seen == 0) continue;
            const long i = static_cast<long>(dice.below(static_cast<std::size_t>(seen)));
            const K key = make<K>(i * writers + static_cast<long>(whose));
            const K never = make<K>(-1 - i);
            atomically({.read_only = me % 2 == 0}, [&](tx& t) {
                lost.expect(map.contains(t, key));
                lost.expect(!map.contains(t, never));
            });
        }
    });
    EXPECT_EQ(lost.count(), 0);
    EXPECT_EQ(atomically([&](tx& t) { return map.size(t); }), static_cast<std::size_t>(writers * each));
}

// All threads insert the same keys into a map that grows from empty: each key is new to exactly one of them. If a
// bucket is split meanwhile, two threads that find different buckets for one key would insert it twice.
TYPED_TEST(conservation_in_a_map, every_key_is_new_once) {
    using K = typename TypeParam::key_type;
    using V = typename TypeParam::mapped_type;
    constexpr std::size_t keys = 400;
    for (std::size_t round = 0; round < rounds(150); ++round) {
        TypeParam map;
        std::atomic<std::size_t> inserted{0};
        run_threads(4, [&](unsigned me) {
            std::size_t mine = 0;
            for (std::size_t i = 0; i < keys; ++i) {
                const K key = make<K>(static_cast<long>((i * 7 + me % 2) % keys));
                mine += atomically([&](tx& t) { return map.insert(t, key, make<V>(0)); }) ? 1 : 0;
            }
            inserted += mine;
        });
        EXPECT_EQ(inserted.load(), keys);
        EXPECT_EQ(atomically([&](tx& t) { return map.size(t); }), keys);
    }
}

// At most one key of each group may be in the map. A transaction looks up all keys of a group. It inserts one if it
// finds none, and otherwise erases them. Two transactions that overlook each other's insertions would leave two keys in
// a group.
TYPED_TEST(conservation_in_a_map, at_most_one_of_a_group) {
    using K = typename TypeParam::key_type;
    using V = typename TypeParam::mapped_type;
    constexpr long groups = 16, size = 6;
    TypeParam map;
    violations twice;
    run_threads(4, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < rounds(8000); ++i) {
            const long group = static_cast<long>(dice.below(groups));
            const long mine = static_cast<long>(dice.below(size));
            atomically([&](tx& t) {
                long members = 0;
                for (long m = 0; m < size; ++m) members += map.contains(t, make<K>(group * size + m)) ? 1 : 0;
                twice.expect(members <= 1);
                if (members == 0) map.insert(t, make<K>(group * size + mine), make<V>(0));
                else
                    for (long m = 0; m < size; ++m) map.erase(t, make<K>(group * size + m));
            });
        }
    });
    EXPECT_EQ(twice.count(), 0);
}

// Elements move between containers of all kinds; every snapshot contains all of them.
TEST_F(conservation, holds_for_elements_that_move_between_containers) {
    constexpr long elements = 60;
    hash_map<long, std::string> hashed;
    ordered_map<long, std::string> ordered;
    queue<std::string> line;
    bounded_queue<std::string> short_line{elements / 2};
    vector<std::string> stack;
    const auto name = [](long i) { return "element number " + std::to_string(i); };
    const auto key = [](const std::string& of) { return std::stol(of.substr(of.rfind(' '))); };
    atomically([&](tx& t) {
        for (long i = 0; i < elements; ++i) line.push(t, name(i));
    });
    const auto take = [&](tx& t, std::size_t from, long hint) -> std::optional<std::string> {
        switch (from) {
            case 0: return hashed.extract(t, hint);
            case 1: {
                const auto next = ordered.lower_bound(t, hint);
                return next ? ordered.extract(t, next->first) : std::nullopt;
            }
            case 2: return line.try_pop(t);
            case 3: return short_line.try_pop(t);
            default: return stack.pop_back(t);
        }
    };
    const auto put = [&](tx& t, std::size_t to, const std::string& what) {
        switch (to) {
            case 0: return hashed.insert(t, key(what), what);
            case 1: return ordered.insert(t, key(what), what);
            case 2: line.push(t, what); return true;
            case 3: return short_line.try_push(t, what);
            default: stack.push_back(t, what); return true;
        }
    };
    const auto count = [&](tx& t) {
        return hashed.size(t) + ordered.size(t) + line.size(t) + short_line.size(t) + stack.size(t);
    };
    violations lost;
    run_threads(4, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < rounds(12000); ++i) {
            if (dice.one_in(16)) {
                atomically({.read_only = me % 2 == 0}, [&](tx& t) { lost.expect(count(t) == elements); });
                continue;
            }
            const std::size_t from = dice.below(5), to = dice.below(5);
            const long hint = static_cast<long>(dice.below(elements));
            // The roll-back puts back an element that does not fit.
            static_cast<void>(try_atomically([&](tx& t) {
                const auto moved = take(t, from, hint);
                if (moved && !put(t, to, *moved)) cancel(t);
            }));
        }
    });
    EXPECT_EQ(lost.count(), 0);
    std::map<std::string, int> found;
    atomically([&](tx& t) {
        found.clear();
        const auto note = [&](const std::string& what) { ++found[what]; };
        hashed.for_each(t, [&](long, const std::string& what) { note(what); });
        ordered.for_each(t, [&](long, const std::string& what) { note(what); });
        line.for_each(t, note);
        short_line.for_each(t, note);
        stack.for_each(t, note);
    });
    EXPECT_EQ(found.size(), static_cast<std::size_t>(elements));
    for (const auto& [what, times] : found) EXPECT_EQ(times, 1) << what;
}

// A scan sees every element once while elements move up and down the order.
TEST_F(conservation, holds_for_elements_during_scans) {
    constexpr long elements = 50, range = 2000;
    ordered_map<long, long> map;
    atomically([&](tx& t) {
        for (long i = 0; i < elements; ++i) map.insert(t, i * (range / elements), i);
    });
    violations wrong;
    run_threads(4, [&](unsigned me) {
        support::random dice{me};
        for (std::size_t i = 0; i < rounds(8000); ++i) {
            if (me == 0) {
                atomically({.read_only = true}, [&](tx& t) {
                    long seen = 0, last = -1;
                    map.for_each(t, 0, range, [&](long k, long) {
                        wrong.expect(k > last);
                        last = k;
                        ++seen;
                    });
                    wrong.expect(seen == elements);
                });
                continue;
            }
            const long from = static_cast<long>(dice.below(range)), to = static_cast<long>(dice.below(range));
            atomically([&](tx& t) {
                const auto moved = map.lower_bound(t, from);
                if (moved && map.insert(t, to, moved->second)) map.erase(t, moved->first);
            });
        }
    });
    EXPECT_EQ(wrong.count(), 0);
}

/// Producers number their elements, and no consumer may see a producer's numbers out of order. Every element arrives.
template <class Queue>
void deliver(Queue& q) {
    constexpr unsigned producers = 2, consumers = 2;
    const auto each = static_cast<long>(rounds(15000));
    violations disorder;
    std::array<std::array<long, producers>, consumers> received{};
    run_threads(producers + consumers, [&](unsigned me) {
        if (me < producers) {
            for (long i = 1; i <= each; ++i) {
                const std::string message = std::to_string(me) + " sends " + std::to_string(i);
                atomically([&](tx& t) { q.push(t, message); });
            }
            // One end marker for each consumer.
            atomically([&](tx& t) { q.push(t, "end"); });
            return;
        }
        std::array<long, producers> last{};
        for (;;) {
            const std::string message = atomically([&](tx& t) { return q.pop(t); });
            if (message == "end") return;
            const auto who = static_cast<std::size_t>(message.front() - '0');
            const long number = std::stol(message.substr(message.rfind(' ')));
            disorder.expect(number > last[who]);
            last[who] = number;
            ++received[me - producers][who];
        }
    });
    long rest = 0;
    atomically([&](tx& t) {
        rest = 0;
        q.for_each(t, [&](const std::string&) { ++rest; });
    });
    EXPECT_EQ(disorder.count(), 0);
    long sum = rest;
    for (const auto& of : received) sum += of[0] + of[1];
    EXPECT_EQ(sum, producers * each);
}
TEST_F(conservation, holds_for_elements_of_a_queue) {
    queue<std::string> q;
    deliver(q);
}
TEST_F(conservation, holds_for_elements_of_a_bounded_queue) {
    bounded_queue<std::string> q{3};
    deliver(q);
}

TEST_F(conservation, holds_for_elements_pushed_to_a_vector) {
    const std::size_t each = rounds(10000);
    vector<long> v;
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically([&](tx& t) { v.push_back(t, 0); });
            // Each thread also increments every element that it passes.
            atomically([&](tx& t) {
                const std::size_t at = (i * 7 + me) % v.size(t);
                v.set(t, at, v.get(t, at) + 1);
            });
        }
    });
    EXPECT_EQ(atomically([&](tx& t) { return v.size(t); }), 4 * each);
    long sum = 0;
    atomically([&](tx& t) {
        sum = 0;
        v.for_each(t, [&](long n) { sum += n; });
    });
    EXPECT_EQ(sum, static_cast<long>(4 * each));
}

}  // namespace
}  // namespace tutti::containers
