// Counts which transactions commit when transactions of several nodes contend for the same objects. The clusters are
// simulated, so only the seed decides.
#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "cluster/ordering/fault_injection.hpp"
#include "cluster/scripted_cluster.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster;
using tutti::cluster::testing::scripted_cluster;

constexpr unsigned conflicts_to_reservations = 16;  // the number of conflicts after which the engine reserves objects
constexpr unsigned objects = 8;

object_id nth(std::uint64_t i) { return {5, i}; }

void write(distributed_transaction& t, const object_id& id) {
    object_entry& e = *t.find(id);
    e.written = e.will_exist = true;
    e.fresh = "written";
}

/// Writes one object after another, each in its own transaction.
void write_for_ever(scripted_cluster::client& c, const bool& over) {
    unsigned lost = 0;
    while (!over) {
        static_cast<void>(c.work.begin());
        const object_id id = nth(c.below(objects));
        bool done = c.work.open({&id, 1}) == protocol_status::good;
        if (done) {
            write(c.work, id);
            done = c.work.prepare(true) == protocol_status::good;
        }
        if (done) c.work.commit();
        lost = done ? 0 : lost + 1;
        c.pause(std::min(lost, 8u));
    }
}

constexpr std::uint64_t some_time = 100'000;

struct trial {
    unsigned attempts = 0;
    bool done = false;
    bool given_up = false;
    std::uint64_t ended = 0;
};

/// A long transaction that reads all objects and writes `writes` of them.
struct long_one {
    unsigned protected_after = conflicts_to_reservations;
    std::int64_t rank = highest_rank;
    bool waits = true;
    bool backwards = false;
    unsigned writes = 1;
    std::uint64_t step = 300;  ///< pause after each opened object, in virtual time
};

bool attempt(scripted_cluster::client& c, const long_one& how, unsigned lost) {
    static_cast<void>(c.work.begin());
    if (lost >= how.protected_after)
        c.work.set_behavior(
            {.waits = how.waits, .precedence = {.rank = how.rank, .age = c.hold.age()}, .reserve_for = &c.hold});
    for (unsigned i = 0; i < objects; ++i) {
        const object_id id = nth(how.backwards ? objects - 1 - i : i);
        if (c.work.open({&id, 1}) != protocol_status::good) return false;
        c.sleep(how.step);
    }
    for (unsigned i = 0; i < how.writes; ++i) write(c.work, nth(i * (objects - 1)));
    if (c.work.prepare(true) != protocol_status::good) return false;
    c.work.commit();
    return true;
}

void suffer(scripted_cluster::client& c, const long_one& how, trial& o) {
    c.hold.begin_execution();
    while (!o.done && !o.given_up) {
        o.done = attempt(c, how, o.attempts++);
        c.hold.release();
        if (!o.done && !(c.work.has_reservations() && !c.work.was_outranked())) c.pause(std::min(o.attempts, 8u));
    }
    o.ended = c.now();
}

/// Runs the long transaction, at most until time `until`, beside two writers on each of the two other nodes.
trial outlast_writers(const long_one& how, std::uint64_t until, std::uint64_t seed,
                      object_placement where = object_placement::home) {
    trial o;
    bool over = false;
    scripted_cluster all{3, seed, where};
    all.add(0, [&](scripted_cluster::client& c) {
        suffer(c, how, o);
        over = true;
    });
    for (unsigned i = 0; i < 4; ++i)
        all.add(static_cast<node_number>(1 + i % 2), [&over](scripted_cluster::client& c) { write_for_ever(c, over); });
    const bool ended = all.run(until);
    EXPECT_EQ(ended, o.done);
    for (node_number n = 0; ended && n < 3; ++n) EXPECT_EQ(all.reserved(n), 0u);
    const trial found = o;
    // These flags end the loops of all clients, so that the clients unwind their stacks.
    over = o.given_up = true;
    EXPECT_TRUE(all.run(until + some_time));
    return found;
}

TEST(cluster_starvation, is_unbounded_without_reservations) {
    const long_one unprotected{.protected_after = ~0u};
    const trial once = outlast_writers(unprotected, some_time, 1),
                twice = outlast_writers(unprotected, 2 * some_time, 1);
    EXPECT_FALSE(once.done);
    EXPECT_FALSE(twice.done);
    EXPECT_GT(once.attempts, 40u);
    EXPECT_GT(twice.attempts, once.attempts * 3 / 2);
}

// The first protected attempt may meet a commit that already holds an object. The next attempt then succeeds.
constexpr unsigned max_attempts = conflicts_to_reservations + 2;

TEST(cluster_starvation, is_bounded_with_reservations) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(50); ++seed) {
        for (const unsigned writes : {0u, 1u, 2u}) {
            const trial o = outlast_writers({.writes = writes}, 100 * some_time, seed);
            ASSERT_TRUE(o.done) << seed;
            ASSERT_LE(o.attempts, max_attempts) << seed;
        }
    }
}

// A commit may move an object away before the long transaction reserves that object.
TEST(cluster_starvation, is_bounded_for_moving_objects) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(50); ++seed) {
        const trial o = outlast_writers({}, 100 * some_time, seed, object_placement::writer);
        ASSERT_TRUE(o.done) << seed;
        ASSERT_LE(o.attempts, 2 * max_attempts) << seed;
    }
}

/// Runs two transactions on different nodes that open the same objects in opposite orders.
std::pair<trial, trial> duel(const long_one& one, const long_one& two, std::uint64_t later = 0) {
    trial first, second;
    scripted_cluster all{2};
    all.add(0, [&](scripted_cluster::client& c) { suffer(c, one, first); });
    all.add(1, [&](scripted_cluster::client& c) {
        if (later != 0) c.sleep(later);
        suffer(c, two, second);
    });
    all.run(some_time);
    return {first, second};
}

constexpr long_one proud{.protected_after = 0, .rank = 0, .waits = false, .writes = 2};
constexpr long_one backwards{.protected_after = 0, .rank = 0, .waits = false, .backwards = true, .writes = 2};

// Neither transaction waits, and each has reserved the objects that the other wants to write. Both have the same age.
TEST(cluster_starvation, ends_between_executions_of_equal_age) {
    const auto [first, second] = duel(proud, backwards);
    EXPECT_TRUE(first.done && second.done);
    EXPECT_EQ(first.attempts, 1u) << "the lower node has precedence";
}

TEST(cluster_starvation, ends_for_the_older_execution_first) {
    const auto [first, second] = duel(proud, backwards, 200);
    EXPECT_TRUE(first.done && second.done);
    EXPECT_EQ(first.attempts, 1u);
}

// The transaction of the higher rank is younger, and runs on the higher node.
TEST(cluster_starvation, prefers_rank_over_age) {
    long_one urgent = backwards;
    urgent.rank = 1;
    const auto [first, second] = duel(proud, urgent, 200);
    EXPECT_TRUE(first.done && second.done);
    EXPECT_EQ(second.attempts, 1u);
    EXPECT_GT(first.attempts, 1u);
}

TEST(cluster_starvation, prefers_repeated_losers_over_any_rank) {
    long_one urgent = backwards, senior = proud;
    urgent.rank = 1'000'000;
    senior.rank = highest_rank;
    const auto [first, second] = duel(senior, urgent, 200);
    EXPECT_TRUE(first.done && second.done);
    EXPECT_EQ(first.attempts, 1u);
}

// A block that is outranked waits for a while. The wait costs the block none of its work.
TEST(cluster_starvation, does_not_restart_a_waiting_execution) {
    trial o;
    bool over = false;
    unsigned attempts = 0, waits = 0;
    scripted_cluster all{2};
    all.add(0, [&](scripted_cluster::client& c) {
        suffer(c, {.protected_after = 0, .writes = 0, .step = 40}, o);
        over = true;
    });
    all.add(1, [&](scripted_cluster::client& c) {
        c.sleep(200);
        bool done = false;
        while (!done) {
            ++attempts;
            static_cast<void>(c.work.begin());
            const object_id id = nth(0);
            ASSERT_EQ(c.work.open({&id, 1}), protocol_status::good) << "every transaction may read";
            write(c.work, id);
            done = c.work.prepare(true) == protocol_status::good;
            if (done) c.work.commit();
            waits += c.work.wait_count();
        }
        EXPECT_TRUE(over);
    });
    EXPECT_TRUE(all.run(some_time));
    EXPECT_EQ(o.attempts, 1u);
    EXPECT_EQ(attempts, 1u);
    EXPECT_EQ(waits, 1u);
}

// All transactions that have lost too often commit one after another, on whatever nodes they run.
TEST(cluster_starvation, ends_for_many_reserving_executions) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(20); ++seed) {
        constexpr unsigned count = 6;
        trial o[count];
        unsigned left = count;
        bool over = false;
        scripted_cluster all{3, seed};
        for (unsigned i = 0; i < count; ++i) {
            all.add(static_cast<node_number>(i % 3), [&, i](scripted_cluster::client& c) {
                suffer(c, {.backwards = i % 2 != 0, .writes = 2}, o[i]);
                over = --left == 0;
            });
        }
        for (node_number n = 0; n < 3; ++n)
            all.add(n, [&over](scripted_cluster::client& c) { write_for_ever(c, over); });
        ASSERT_TRUE(all.run(100 * some_time)) << seed;
        for (const trial& one : o) EXPECT_LE(one.attempts, max_attempts + 2 * count) << seed;
    }
}

#if defined(TUTTI_CLUSTER_FAULTS) && !defined(TUTTI_SANITIZED)

class broken_contention {
public:
    explicit broken_contention(fault f) { injected_fault = f; }
    ~broken_contention() { injected_fault = fault::none; }
    broken_contention(const broken_contention&) = delete;
    broken_contention& operator=(const broken_contention&) = delete;
};

TEST(cluster_contention_with_faults, catches_unresolved_equal_precedence) {
    const broken_contention step{fault::equal_precedence_unresolved};
    EXPECT_GT(duel(proud, backwards).first.attempts, 5u) << "they refuse each other until chance parts them";
}

TEST(cluster_contention_with_faults, catches_a_missing_age) {
    const broken_contention step{fault::no_age};
    EXPECT_GT(duel(proud, backwards, 200).first.attempts, 5u);
}

TEST(cluster_contention_with_faults, catches_a_missing_rank) {
    const broken_contention step{fault::priority_not_carried};
    long_one urgent = backwards;
    urgent.rank = 1;
    const auto [first, second] = duel(proud, urgent, 200);
    EXPECT_TRUE(first.done && second.done);
    EXPECT_GT(second.attempts, 1u);
}

TEST(cluster_contention_with_faults, catches_a_reservation_without_effect) {
    const broken_contention step{fault::reservation_excludes_none};
    EXPECT_GT(outlast_writers({}, some_time, 1).attempts, 2 * max_attempts);
}

#endif

}  // namespace
