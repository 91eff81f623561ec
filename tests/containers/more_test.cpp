// Sets, the multimap, the priority queue, the one-shot cell, the semaphore and the broadcast channel. One thread
// compares them with equivalents from the standard library; several threads test waiting operations.
#include <deque>
#include <map>
#include <set>
#include <unordered_set>

#include "containers/model.hpp"
#include "support/worker_group.hpp"
#include "tutti/containers/broadcast.hpp"
#include "tutti/containers/hash_set.hpp"
#include "tutti/containers/one_shot.hpp"
#include "tutti/containers/ordered_multimap.hpp"
#include "tutti/containers/ordered_set.hpp"
#include "tutti/containers/priority_queue.hpp"
#include "tutti/containers/semaphore.hpp"

namespace tutti::containers {
namespace {

constexpr int keys = 300;

template <class Set>
struct set_trial {
    using K = typename Set::key_type;
    static constexpr int common = 7, ordered = 13;
    static constexpr bool is_ordered = requires(Set& s, tx& t, const K& k) { s.lower_bound(t, k); };
    static constexpr int kinds = is_ordered ? ordered : common;

    static seen on(tx& t, Set& s, const step& what) {
        const K key = make<K>(what.key);
        switch (what.what) {
            case 0:
            case 1:
            case 2: return {s.insert(t, key)};
            case 3: return {s.erase(t, key)};
            case 4: return {s.contains(t, key), static_cast<long>(s.size(t)), s.empty(t)};
            case 5: return {s.insert(key), s.contains(key)};  // part of t
            case 6:
                if (what.key % 16 == 0) s.clear(t);
                s.for_each(t, [&](const K& k) {
                    if ((number_of(k) + what.key) % 5 == 0) s.erase(t, k);
                });
                return {};
            default:
                if constexpr (is_ordered) {
                    switch (what.what) {
                        case 7: return {number_of(s.lower_bound(t, key))};
                        case 8: return {number_of(s.upper_bound(t, key))};
                        case 9: return {number_of(s.front(t)), number_of(s.back(t))};
                        case 10: return {number_of(s.pop_front(t))};
                        case 11: return {number_of(s.pop_back(t))};
                        default: {
                            seen passed;
                            s.for_each(t, key, make<K>(what.value % keys), [&](const K& k) {
                                passed.push_back(number_of(k));
                                return passed.size() < 20;
                            });
                            return passed;
                        }
                    }
                }
                return {};
        }
    }
    template <class Model>
    static seen on(Model& s, const step& what) {
        const K key = make<K>(what.key);
        switch (what.what) {
            case 0:
            case 1:
            case 2: return {s.insert(key).second};
            case 3: return {static_cast<long>(s.erase(key))};
            case 4: return {s.contains(key), static_cast<long>(s.size()), s.empty()};
            case 5: return {s.insert(key).second, true};
            case 6:
                if (what.key % 16 == 0) s.clear();
                std::erase_if(s, [&](const K& k) { return (number_of(k) + what.key) % 5 == 0; });
                return {};
            default:
                if constexpr (is_ordered) {
                    const auto at = [&](auto i) { return i != s.end() ? number_of(*i) : -1; };
                    const auto pop = [&](auto i) {
                        const long found = at(i);
                        if (i != s.end()) s.erase(i);
                        return found;
                    };
                    const auto last = s.empty() ? s.end() : std::prev(s.end());
                    switch (what.what) {
                        case 7: return {at(s.lower_bound(key))};
                        case 8: return {at(s.upper_bound(key))};
                        case 9: return {at(s.begin()), at(last)};
                        case 10: return {pop(s.begin())};
                        case 11: return {pop(last)};
                        default: {
                            seen passed;
                            const K end = make<K>(what.value % keys);
                            for (auto i = s.lower_bound(key); i != s.end() && *i < end && passed.size() < 20; ++i)
                                passed.push_back(number_of(*i));
                            return passed;
                        }
                    }
                }
                return {};
        }
    }
    static seen all(tx& t, Set& s) {
        seen held;
        s.for_each(t, [&](const K& k) { held.push_back(number_of(k)); });
        RC_ASSERT(held.size() == s.size(t));
        if constexpr (!is_ordered) std::ranges::sort(held);
        return held;
    }
    template <class Model>
    static seen all(const Model& s) {
        seen held;
        for (const K& k : s) held.push_back(number_of(k));
        if constexpr (!is_ordered) std::ranges::sort(held);
        return held;
    }
};

template <class Set, class Model>
void try_set() {
    Set subject;
    run<set_trial<Set>>(*programs(set_trial<Set>::kinds, keys), subject, Model{});
}
RC_GTEST_PROP(ordered_set_property, numbers, ()) { try_set<ordered_set<long>, std::set<long>>(); }
RC_GTEST_PROP(ordered_set_property, strings, ()) { try_set<ordered_set<std::string>, std::set<std::string>>(); }
RC_GTEST_PROP(hash_set_property, numbers, ()) { try_set<hash_set<long>, std::unordered_set<long>>(); }
RC_GTEST_PROP(hash_set_property, strings, ()) { try_set<hash_set<std::string>, std::unordered_set<std::string>>(); }

template <class K>
struct multimap_trial {
    using subject = ordered_multimap<K, long>;
    using model = std::multimap<K, long>;  // also keeps equal keys in the order of their insertion
    static constexpr int kinds = 10;

    static seen on(tx& t, subject& m, const step& s) {
        const K key = make<K>(s.key % 20);
        switch (s.what) {
            case 0:
            case 1:
            case 2:
            case 3: m.insert(t, key, s.value); return {};
            case 4: return {number_of(m.find(t, key)), m.contains(t, key), static_cast<long>(m.count(t, key))};
            case 5: return {number_of(m.extract(t, key))};
            case 6: return {s.value % 4 == 0 ? static_cast<long>(m.erase(t, key)) : -1};
            case 7: return entry(m.pop_front(t));
            case 8: return entry(m.pop_back(t));
            default: {
                if (s.key % 64 == 0) m.clear(t);
                seen of_key = entry(m.front(t));
                for (const long n : entry(m.back(t))) of_key.push_back(n);
                m.for_each_of(t, key, [&](long v) { of_key.push_back(v); });
                return of_key;
            }
        }
    }
    static seen on(model& m, const step& s) {
        const K key = make<K>(s.key % 20);
        const auto [from, to] = m.equal_range(key);
        const auto pop = [&m](auto i) {
            if (i == m.end()) return seen{-1};
            const seen popped{number_of(i->first), i->second};
            m.erase(i);
            return popped;
        };
        const auto last = m.empty() ? m.end() : std::prev(m.end());
        switch (s.what) {
            case 0:
            case 1:
            case 2:
            case 3: m.emplace(key, s.value); return {};
            case 4: {
                const auto count = static_cast<long>(m.count(key));
                return {from != to ? from->second : -1, count != 0, count};
            }
            case 5: {
                if (from == to) return {-1};
                const long value = from->second;
                m.erase(from);
                return {value};
            }
            case 6: return {s.value % 4 == 0 ? static_cast<long>(m.erase(key)) : -1};
            case 7: return pop(m.begin());
            case 8: return pop(last);
            default: {
                if (s.key % 64 == 0) m.clear();
                seen of_key;
                for (const auto i : {m.begin(), m.empty() ? m.end() : std::prev(m.end())}) {
                    if (i == m.end()) {
                        of_key.push_back(-1);
                    } else {
                        of_key.push_back(number_of(i->first));
                        of_key.push_back(i->second);
                    }
                }
                for (auto [i, end] = m.equal_range(key); i != end; ++i) of_key.push_back(i->second);
                return of_key;
            }
        }
    }
    static seen all(tx& t, subject& m) {
        seen held;
        m.for_each(t, [&](const K& k, long v) { held.push_back(number_of(k) * 1000 + v); });
        RC_ASSERT(held.size() == m.size(t) && held.empty() == m.empty(t));
        return held;
    }
    static seen all(const model& m) {
        seen held;
        for (const auto& [k, v] : m) held.push_back(number_of(k) * 1000 + v);
        return held;
    }

private:
    static seen entry(const std::optional<std::pair<K, long>>& e) {
        return e ? seen{number_of(e->first), e->second} : seen{-1};
    }
};
template <class K>
void try_multimap() {
    typename multimap_trial<K>::subject subject;
    run<multimap_trial<K>>(*programs(multimap_trial<K>::kinds, keys), subject, typename multimap_trial<K>::model{});
}
RC_GTEST_PROP(ordered_multimap_property, numbers, ()) { try_multimap<long>(); }
RC_GTEST_PROP(ordered_multimap_property, strings, ()) { try_multimap<std::string>(); }

/// Of equal elements, the first one pushed goes first.
struct priority_trial {
    using element = std::pair<int, int>;
    struct less {
        bool operator()(const element& a, const element& b) const { return a.first < b.first; }
    };
    using subject = priority_queue<element, less>;
    using model = std::vector<element>;  // sorted; the next element is at the front
    static constexpr int kinds = 6;

    static seen on(tx& t, subject& q, const step& s) {
        switch (s.what) {
            case 0:
            case 1:
            case 2: q.push(t, {s.key % 10, s.value}); return {};
            case 3: return entry(q.try_pop(t));
            case 4: return entry(q.top(t));
            default:
                if (s.key % 32 == 0) q.clear(t);
                return {static_cast<long>(q.size(t)), q.empty(t)};
        }
    }
    static seen on(model& q, const step& s) {
        switch (s.what) {
            case 0:
            case 1:
            case 2: {
                const element fresh{s.key % 10, s.value};
                q.insert(std::ranges::upper_bound(q, fresh, [](auto& a, auto& b) { return a.first > b.first; }), fresh);
                return {};
            }
            case 3: {
                const seen first = entry(q.empty() ? std::nullopt : std::optional{q.front()});
                if (!q.empty()) q.erase(q.begin());
                return first;
            }
            case 4: return entry(q.empty() ? std::nullopt : std::optional{q.front()});
            default:
                if (s.key % 32 == 0) q.clear();
                return {static_cast<long>(q.size()), q.empty()};
        }
    }
    static seen all(tx& t, subject& q) { return entry(q.top(t)); }
    static seen all(const model& q) { return entry(q.empty() ? std::nullopt : std::optional{q.front()}); }

private:
    static seen entry(const std::optional<element>& e) { return e ? seen{e->first, e->second} : seen{-1}; }
};
RC_GTEST_PROP(priority_queue_property, pairs, ()) {
    priority_trial::subject subject;
    run<priority_trial>(*programs(priority_trial::kinds, keys), subject, priority_trial::model{});
}

/// Three listeners, and the messages that each still has to receive.
struct broadcast_trial {
    struct subject {
        broadcast<std::string> channel;
        broadcast<std::string>::listener ears[3]{broadcast<std::string>::listener{channel},
                                                 broadcast<std::string>::listener{channel},
                                                 broadcast<std::string>::listener{channel}};
    };
    struct model {
        std::deque<long> to_come[3];
    };
    static constexpr int kinds = 4;

    static seen on(tx& t, subject& c, const step& s) {
        if (s.what < 2) {
            c.channel.send(t, make<std::string>(s.value));
            return {};
        }
        return {number_of(c.ears[s.key % 3].try_receive(t))};
    }
    static seen on(model& c, const step& s) {
        if (s.what < 2) {
            for (auto& each : c.to_come) each.push_back(s.value);
            return {};
        }
        auto& mine = c.to_come[s.key % 3];
        if (mine.empty()) return {-1};
        const long first = mine.front();
        mine.pop_front();
        return {first};
    }
    static seen all(tx&, subject&) { return {}; }
    static seen all(const model&) { return {}; }
};
RC_GTEST_PROP(broadcast_property, strings, ()) {
    broadcast_trial::subject subject;
    run<broadcast_trial>(*programs(broadcast_trial::kinds, keys), subject, broadcast_trial::model{});
}

TEST(broadcast, closes_after_the_last_message_is_received) {
    broadcast<int> channel;
    broadcast<int>::listener early{channel};
    atomically([&](tx& t) { channel.send(t, 1); });
    broadcast<int>::listener late{channel};
    atomically([&](tx& t) {
        channel.send(t, 2);
        channel.close(t);
    });
    EXPECT_EQ(early.receive(), 1);
    EXPECT_EQ(early.receive(), 2);
    EXPECT_EQ(early.receive(), std::nullopt);
    EXPECT_EQ(late.receive(), 2);
    EXPECT_EQ(late.receive(), std::nullopt);
    EXPECT_THROW(atomically([&](tx& t) { channel.send(t, 3); }), std::logic_error);
}

// Listeners come and go in the middle. A listener that stays receives every message, and nothing leaks (asan checks).
TEST(broadcast, wakes_every_listener) {
    const long messages = static_cast<long>(support::rounds(2000));
    broadcast<long> channel;
    std::atomic<unsigned> ready{0};
    support::run_threads(4, [&](unsigned me) {
        if (me == 0) {
            while (ready.load() < 2) std::this_thread::yield();
            for (long i = 0; i < messages; ++i) atomically([&](tx& t) { channel.send(t, i); });
            atomically([&](tx& t) { channel.close(t); });
        } else if (me == 3) {
            for (;;) {
                broadcast<long>::listener for_a_while{channel};
                const auto first = for_a_while.receive();
                if (!first) break;
                for (long i = 0; i < 5; ++i) {
                    const auto next = for_a_while.receive();
                    EXPECT_TRUE(!next || *next == *first + i + 1);
                }
            }
        } else {
            broadcast<long>::listener all{channel};
            ++ready;
            long expected = 0;
            while (const auto next = all.receive()) EXPECT_EQ(*next, expected++);
            EXPECT_EQ(expected, messages);
        }
    });
}

TEST(one_shot, is_filled_once) {
    one_shot<std::string> cell;
    EXPECT_EQ(cell.try_get(), std::nullopt);
    EXPECT_FALSE(try_atomically([&](tx& t) {
        EXPECT_TRUE(cell.try_set(t, "never"));
        cancel(t);
    }));
    std::string heard;
    std::jthread waits{[&] { heard = cell.get(); }};
    EXPECT_TRUE(cell.try_set("first"));
    EXPECT_FALSE(cell.try_set("second"));
    waits.join();
    EXPECT_EQ(heard, "first");
}

// Five philosophers, each of whom takes two permits in one block: a block never holds one while it waits for the other.
TEST(semaphore, acquires_two_permits_without_deadlock) {
    constexpr unsigned at_table = 5;
    const std::size_t meals = support::rounds(500);
    std::vector<std::unique_ptr<semaphore>> forks;
    for (unsigned i = 0; i < at_table; ++i) forks.push_back(std::make_unique<semaphore>(1));
    std::atomic<int> held[at_table]{};
    std::atomic<int> shared{0};
    support::run_threads(at_table, [&](unsigned me) {
        const unsigned left = me, right = (me + 1) % at_table;
        for (std::size_t i = 0; i < meals; ++i) {
            atomically([&](tx& t) {
                forks[left]->acquire(t);
                forks[right]->acquire(t);
            });
            for (const unsigned f : {left, right}) shared += held[f].fetch_add(1);
            for (const unsigned f : {left, right}) held[f].fetch_sub(1);
            atomically([&](tx& t) {
                forks[left]->release(t);
                forks[right]->release(t);
            });
        }
    });
    EXPECT_EQ(shared.load(), 0);
    for (const auto& f : forks) EXPECT_EQ(f->available(), 1U);
}

TEST(semaphore, counts) {
    semaphore three{3};
    EXPECT_TRUE(atomically([&](tx& t) { return three.try_acquire(t, 2); }));
    EXPECT_FALSE(atomically([&](tx& t) { return three.try_acquire(t, 2); }));
    EXPECT_TRUE(three.try_acquire());
    EXPECT_FALSE(three.try_acquire());
    three.release();
    EXPECT_EQ(three.available(), 1U);
}

}  // namespace
}  // namespace tutti::containers
