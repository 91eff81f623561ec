// Every operation of every container fails at each possible point: at its n-th copy, comparison or hash, and at its
// n-th allocation, for every n until it succeeds. The block catches the exception and commits. The container then has
// its former content, or that of a successful operation. The operation succeeds when it is repeated.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "support/heap.hpp"
#include "tutti/containers/bounded_queue.hpp"
#include "tutti/containers/broadcast.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/containers/hash_set.hpp"
#include "tutti/containers/one_shot.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/containers/ordered_multimap.hpp"
#include "tutti/containers/ordered_set.hpp"
#include "tutti/containers/priority_queue.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"
#include "tutti/tutti.hpp"

namespace tutti::containers {
namespace {

struct injected {};
int fail_after = 0;

void may_throw() {
    if (fail_after != 0 && --fail_after == 0) throw injected{};
}

/// A type whose copies, comparisons and hashes may throw. It has no move constructor, so it is never moved.
class fragile {
public:
    explicit fragile(long number) : number_{number} { alive.insert(this); }
    fragile(const fragile& other) : number_{other.number_} {
        EXPECT_TRUE(alive.contains(&other)) << "a copy of what has been destroyed";
        may_throw();
        alive.insert(this);
    }
    fragile& operator=(const fragile& other) {
        may_throw();
        number_ = other.number_;
        return *this;
    }
    ~fragile() { EXPECT_EQ(alive.erase(this), 1u) << "destroyed twice"; }
    [[nodiscard]] long number() const { return number_; }
    friend bool operator<(const fragile& a, const fragile& b) {
        may_throw();
        return a.number_ < b.number_;
    }
    friend bool operator==(const fragile& a, const fragile& b) {
        may_throw();
        return a.number_ == b.number_;
    }

private:
    static inline std::set<const fragile*> alive;
    long number_;
};

struct fragile_hash {
    std::size_t operator()(const fragile& f) const {
        may_throw();
        return static_cast<std::size_t>(f.number()) * 7919;
    }
};

using held = std::vector<long>;

template <class Subject>
held contents(Subject& s) {
    return atomically([&](tx& t) {
        held all;
        if constexpr (requires { s.for_each(t, [](const fragile&, const fragile&) {}); }) {
            s.for_each(t, [&](const fragile& k, const fragile& v) { all.insert(all.end(), {k.number(), v.number()}); });
        } else {
            s.for_each(t, [&](const fragile& v) { all.push_back(v.number()); });
        }
        all.push_back(-static_cast<long>(s.size(t)));
        return all;
    });
}

enum class fault { user, memory };

/// Runs `act(tx&)` with the n-th fault of that kind, in a block that commits even if `act` throws. Returns true if
/// `act` has thrown.
template <class Act>
bool fails_at(fault what, int n, const Act& act) {
    bool failed = false;
    atomically([&](tx& t) {
        failed = false;
        fail_after = what == fault::user ? n : 0;
        support::refuse_after = what == fault::memory ? static_cast<std::uint64_t>(n) : 0;
        try {
            act(t);
        } catch (const injected&) {
            failed = true;
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        fail_after = 0;
        support::refuse_after = 0;
    });
    return failed;
}

/// `make()` returns a pointer to a subject; `look(subject)` returns its content.
template <class Make, class Look, class Act>
void never_torn(const std::string& what, const Make& make, const Look& look, const Act& act) {
    SCOPED_TRACE(what);
    const auto twin = make();
    const held before = look(*twin);
    atomically([&](tx& t) { act(t, *twin); });
    const held after = look(*twin);
    for (const fault f : {fault::user, fault::memory}) {
        for (int n = 1, failed = 1; failed != 0; ++n) {
            SCOPED_TRACE((f == fault::user ? "throws at call " : "no memory at allocation ") + std::to_string(n));
            const auto subject = make();
            failed = fails_at(f, n, [&](tx& t) { act(t, *subject); }) ? 1 : 0;
            ASSERT_EQ(look(*subject), failed != 0 ? before : after);
            if (failed != 0) atomically([&](tx& t) { act(t, *subject); });
            ASSERT_EQ(look(*subject), after);
            ASSERT_LT(n, 100'000);
        }
    }
}

constexpr int sizes[] = {0, 1, 2, 14, 15, 16, 31, 250};

template <class Subject, class Fill, class Act>
void at_every_size(const std::string& what, const Fill& fill, const Act& act, int least = 0) {
    for (const int size : sizes) {
        if (size < least) continue;
        const auto make = [&] {
            auto made = std::make_unique<Subject>();
            for (int i = 0; i < size; ++i) fill(*made, i);
            return made;
        };
        never_torn(what + " at size " + std::to_string(size), make, contents<Subject>,
                   [&](tx& t, Subject& s) { act(t, s, size); });
    }
}

template <class Map>
void try_map(const std::string& name) {
    const auto fill = [](Map& m, int i) { m.insert(fragile{2L * i}, fragile{i}); };
    for (const int place : {0, 1, 2}) {
        const auto odd = [place](int size) { return fragile{place * long{size} + 1}; };
        const auto even = [place](int size) {
            return fragile{place == 2 ? 2L * size - 2 : place * long{size / 2} * 2};
        };
        at_every_size<Map>(name + ".insert", fill, [&](tx& t, Map& m, int s) { m.insert(t, odd(s), fragile{7}); });
        at_every_size<Map>(name + ".erase", fill, [&](tx& t, Map& m, int s) { m.erase(t, even(s)); }, 1);
        if constexpr (requires(Map& m, tx& t, const fragile& k) { m.insert_or_assign(t, k, k); }) {
            at_every_size<Map>(name + ".insert_or_assign", fill,
                               [&](tx& t, Map& m, int s) { m.insert_or_assign(t, even(s), fragile{8}); });
            at_every_size<Map>(name + ".update", fill, [&](tx& t, Map& m, int s) {
                m.update(t, even(s), [](const fragile& f) { return fragile{f.number() + 9}; });
            });
        }
        at_every_size<Map>(name + ".extract", fill, [&](tx& t, Map& m, int s) { std::ignore = m.extract(t, even(s)); });
    }
    at_every_size<Map>(name + ".clear", fill, [](tx& t, Map& m, int) { m.clear(t); });
    if constexpr (requires(Map& m, tx& t) { m.pop_front(t); }) {
        at_every_size<Map>(name + ".pop_front", fill, [](tx& t, Map& m, int) { m.pop_front(t); });
        at_every_size<Map>(name + ".pop_back", fill, [](tx& t, Map& m, int) { m.pop_back(t); });
    }
}

template <class Set>
void try_set(const std::string& name) {
    const auto fill = [](Set& m, int i) { m.insert(fragile{2L * i}); };
    at_every_size<Set>(name + ".insert", fill,
                       [](tx& t, Set& m, int size) { m.insert(t, fragile{size + 1L - size % 2}); });
    at_every_size<Set>(name + ".erase", fill, [](tx& t, Set& m, int size) { m.erase(t, fragile{size / 2 * 2L}); });
    at_every_size<Set>(name + ".clear", fill, [](tx& t, Set& m, int) { m.clear(t); });
}

template <class Queue>
void try_queue(const std::string& name) {
    const auto fill = [](Queue& q, int i) { q.push(fragile{i}); };
    at_every_size<Queue>(name + ".push", fill, [](tx& t, Queue& q, int) { q.push(t, fragile{1000}); });
    at_every_size<Queue>(name + ".pop", fill, [](tx& t, Queue& q, int) { std::ignore = q.pop(t); }, 1);
    at_every_size<Queue>(name + ".try_pop", fill, [](tx& t, Queue& q, int) { std::ignore = q.try_pop(t); });
    at_every_size<Queue>(name + ".clear", fill, [](tx& t, Queue& q, int) { q.clear(t); });
}

class roomy_queue : public bounded_queue<fragile> {
public:
    roomy_queue() : bounded_queue{300} {}
};

/// The same interface for a container without for_each.
class listened {
public:
    void push(const fragile& f) {
        atomically([&](tx& t) { channel.send(t, f); });
        ++sent;
    }
    broadcast<fragile> channel;
    broadcast<fragile>::listener listener{channel};
    int sent = 0;
};

}  // namespace

TEST(failures, leave_hash_map_unchanged) { try_map<hash_map<fragile, fragile, fragile_hash>>("hash_map"); }
TEST(failures, leave_ordered_map_unchanged) { try_map<ordered_map<fragile, fragile>>("ordered_map"); }
TEST(failures, leave_ordered_multimap_unchanged) {
    using map = ordered_multimap<fragile, fragile>;
    try_map<map>("ordered_multimap");
    const auto fill = [](map& m, int i) { m.insert(fragile{i % 5}, fragile{i}); };
    at_every_size<map>("ordered_multimap.erase of several", fill, [](tx& t, map& m, int) { m.erase(t, fragile{3}); });
}
TEST(failures, leave_sets_unchanged) {
    try_set<hash_set<fragile, fragile_hash>>("hash_set");
    try_set<ordered_set<fragile>>("ordered_set");
}
TEST(failures, leave_queues_unchanged) {
    try_queue<queue<fragile>>("queue");
    try_queue<roomy_queue>("bounded_queue");
}
TEST(failures, leave_priority_queue_unchanged) {
    using subject = priority_queue<fragile>;
    const auto make = [] {
        auto made = std::make_unique<subject>();
        for (int i = 0; i < 40; ++i) made->push(fragile{i * 7 % 40});
        return made;
    };
    const auto look = [](subject& s) {
        const long size = static_cast<long>(atomically([&](tx& t) { return s.size(t); }));
        const auto top = atomically([&](tx& t) { return s.top(t); });
        return held{size, top ? top->number() : -1};
    };
    never_torn("push", make, look, [](tx& t, subject& s) { s.push(t, fragile{90}); });
    never_torn("pop", make, look, [](tx& t, subject& s) { std::ignore = s.pop(t); });
    never_torn("try_pop", make, look, [](tx& t, subject& s) { std::ignore = s.try_pop(t); });
    never_torn("clear", make, look, [](tx& t, subject& s) { s.clear(t); });
}
TEST(failures, leave_vector_unchanged) {
    using subject = vector<fragile>;
    const auto fill = [](subject& v, int i) { v.push_back(fragile{i}); };
    at_every_size<subject>("push_back", fill, [](tx& t, subject& v, int) { v.push_back(t, fragile{1000}); });
    at_every_size<subject>("pop_back", fill, [](tx& t, subject& v, int) { v.pop_back(t); });
    at_every_size<subject>(
        "set", fill, [](tx& t, subject& v, int size) { v.set(t, static_cast<std::size_t>(size) / 2, fragile{-1}); }, 1);
    at_every_size<subject>("clear", fill, [](tx& t, subject& v, int) { v.clear(t); });
}
TEST(failures, leave_broadcast_unchanged) {
    const auto make = [] {
        auto made = std::make_unique<listened>();
        for (int i = 0; i < 3; ++i) made->push(fragile{i});
        return made;
    };
    const auto look = [](listened& s) {
        held all;
        std::ignore = try_atomically([&](tx& t) {
            all.clear();
            while (const auto m = s.listener.try_receive(t)) all.push_back(m->number());
            cancel(t);
        });
        return all;
    };
    never_torn("send", make, look, [](tx& t, listened& s) { s.channel.send(t, fragile{9}); });
    never_torn("try_receive", make, look, [](tx& t, listened& s) { std::ignore = s.listener.try_receive(t); });
}
TEST(failures, leave_variables_unchanged) {
    struct two {
        var<fragile> a{fragile{1}}, b{fragile{2}};
        one_shot<fragile> c;
    };
    const auto look = [](two& s) {
        return atomically([&](tx& t) {
            const auto c = s.c.try_get(t);
            return held{s.a.get(t).number(), s.b.get(t).number(), c ? c->number() : -1};
        });
    };
    const auto make = [] { return std::make_unique<two>(); };
    never_torn("set", make, look, [](tx& t, two& s) { s.a.set(t, fragile{5}); });
    never_torn("set to its own", make, look, [](tx& t, two& s) { s.a.set(t, s.a.get(t)); });
    never_torn("exchange", make, look, [](tx& t, two& s) { std::ignore = s.a.exchange(t, fragile{5}); });
    never_torn("swap", make, look, [](tx& t, two& s) { s.a.swap(t, s.b); });
    never_torn("try_set", make, look, [](tx& t, two& s) { std::ignore = s.c.try_set(t, fragile{5}); });
}
TEST(failures, free_the_memory_after_a_constructor_throws) {
    queue<fragile> q;
    const fragile one{1};
    const auto push_in_vain = [&] { EXPECT_TRUE(fails_at(fault::user, 1, [&](tx& t) { q.push(t, one); })); };
    push_in_vain();  // the first block also allocates memory that the thread keeps
    const auto before = support::live_blocks.load();
    for (int i = 0; i < 100; ++i) push_in_vain();
    EXPECT_EQ(support::live_blocks.load(), before);
}

// --- values that a block has made and replaced itself

TEST(replaced, strings_use_memory_for_the_last_value_only) {
    var<std::string> s{std::string(100, 'a')};
    std::int64_t most = 0;
    const auto before = support::live_blocks.load();
    atomically([&](tx& t) {
        for (int i = 0; i < 10'000; ++i) {
            s.set(t, std::string(100, 'b') + std::to_string(i));
            most = std::max(most, support::live_blocks.load() - before);
        }
    });
    EXPECT_LT(most, 500);
    EXPECT_EQ(s.load(), std::string(100, 'b') + "9999");
}

TEST(replaced, values_of_nested_blocks_belong_to_the_parent) {
    var<std::string> s{std::string(100, 'a')};
    const auto before = support::live_blocks.load();
    std::int64_t most = 0;
    atomically([&](tx& t) {
        for (int i = 0; i < 10'000; ++i) {
            atomically([&](tx& inner) { s.set(inner, std::string(100, 'b') + std::to_string(i)); });
            most = std::max(most, support::live_blocks.load() - before);
        }
        EXPECT_EQ(s.get(t), std::string(100, 'b') + "9999");
    });
    EXPECT_LT(most, 500);
}

TEST(replaced, value_of_the_parent_returns_on_nested_roll_back) {
    var<std::string> s{"old"};
    const std::string own(100, 'p');
    atomically([&](tx& t) {
        s.set(t, own);
        const std::string& mine = s.get(t);
        std::ignore = try_atomically([&](tx& inner) {
            for (int i = 0; i < 1000; ++i) s.set(inner, std::string(50, 'c'));
            cancel(inner);
        });
        EXPECT_EQ(&s.get(t), &mine);
        EXPECT_EQ(mine, own);
        for (int i = 0; i < 1000; ++i) s.set(t, std::to_string(i));
    });
    EXPECT_EQ(s.load(), "999");
}

TEST(replaced, value_before_the_block_returns_on_roll_back) {
    var<std::string> s{"old"};
    vector<std::string> v;
    v.push_back("old");
    ordered_map<long, long> m;
    std::ignore = try_atomically([&](tx& t) {
        for (int i = 0; i < 1000; ++i) {
            s.set(t, std::to_string(i));
            v.set(t, 0, std::to_string(i));
            m.insert(t, i, i);
        }
        cancel(t);
    });
    EXPECT_EQ(s.load(), "old");
    EXPECT_EQ(v.at(0), "old");
    EXPECT_EQ(m.size(), 0u);
}

TEST(replaced, containers_and_structs_use_bounded_memory) {
    struct large {
        long at[4];
    };
    var<large> l{large{}};
    vector<std::string> v;
    v.push_back("old");
    ordered_map<std::string, std::string> m;
    m.insert("key", "old");
    bounded_queue<std::string> q{4};
    const auto before = support::live_blocks.load();
    std::int64_t most = 0;
    atomically([&](tx& t) {
        for (long i = 0; i < 5'000; ++i) {
            l.set(t, large{{i, i, i, i}});
            v.set(t, 0, std::string(40, 'v'));
            m.insert_or_assign(t, "key", std::string(40, 'm'));
            q.push(t, std::string(40, 'q'));
            std::ignore = q.try_pop(t);
            most = std::max(most, support::live_blocks.load() - before);
        }
    });
    EXPECT_LT(most, 1000);
    EXPECT_EQ(l.load().at[3], 4999);
}

TEST(replaced, values_of_before_commit_handlers_are_committed) {
    var<std::string> s{"old"};
    int runs = 0;
    atomically([&](tx& t) {
        runs = 0;
        for (int i = 0; i < 300; ++i) s.set(t, std::to_string(i));
        for (int h = 0; h < 3; ++h) {
            t.before_commit([&](tx& inner) {
                ++runs;
                for (int i = 0; i < 300; ++i) s.set(inner, std::to_string(i));
            });
        }
    });
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(s.load(), "299");
}

}  // namespace tutti::containers
