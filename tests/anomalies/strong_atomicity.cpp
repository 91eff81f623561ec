// Weak atomicity: an access outside transactions slips between the accesses of a transaction.
//
// Catches a `store` that does not take the orec: a transaction that has read before the store would commit over the
// stored value. Catches a `load` that ignores a lock, and single accesses that are not ordered with accesses to other
// variables.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class strong_atomicity_test : public suite_of_flavours {};

// One thread stores rising even numbers. Others make them odd and even again within a transaction, or add two. A
// transaction that read before a store and commits after it would overwrite the stored value.
TEST_P(strong_atomicity_test, never_overwrites_a_store_unread) {
    const std::size_t each = rounds(1600);
    var<long> v{0};
    std::atomic<bool> done{false};
    violations lost;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            for (std::size_t i = 1; i <= each; ++i) {
                const long rising = static_cast<long>(i) * 1'000'000;
                v.store(rising);
                lost.expect(v.load() >= rising);
            }
            done = true;
        } else {
            const flavour mine = GetParam().of(me);
            while (!done.load()) run(mine, [&](tx& t) { v.set(t, v.get(t) + 2); });
        }
    });
    EXPECT_EQ(lost.count(), 0);
}

TEST_P(strong_atomicity_test, hides_transactions_in_progress_from_loads) {
    const std::size_t each = rounds(800);
    var<long> v{0};
    std::atomic<bool> done{false};
    violations odd;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            const flavour mine = GetParam().of(1);
            for (std::size_t i = 0; i < each; ++i) {
                run(mine, [&](tx& t) {
                    v.set(t, v.get(t) + 1);
                    v.set(t, v.get(t) + 1);
                });
            }
            done = true;
        } else {
            while (!done.load()) odd.expect(v.load() % 2 == 0);
        }
    });
    EXPECT_EQ(odd.count(), 0);
}

// A transaction changes two variables together, and a thread reads them one after the other from outside. Two other
// variables are stored one after the other, and read together inside a transaction.
TEST_P(strong_atomicity_test, keeps_the_order_of_accesses) {
    const std::size_t each = rounds(800);
    var<long> x{0}, y{0}, first{0}, second{0};
    std::atomic<bool> done{false};
    violations order;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                run(mine, [&](tx& t) {
                    y.set(t, y.get(t) + 1);
                    x.set(t, x.get(t) + 1);
                });
                first.store(static_cast<long>(i));
                second.store(static_cast<long>(i));
            }
            done = true;
        } else if (me == 1) {
            while (!done.load()) {
                const long early = x.load();
                order.expect(y.load() >= early);
                const long other = y.load();
                order.expect(x.load() >= other);
            }
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me == 2}, [&](tx& t) {
                    const long late = second.get(t);
                    const long early = first.get(t);
                    order.expect(early == late || early == late + 1);
                    order.expect(x.get(t) == y.get(t));
                });
            }
        }
    });
    EXPECT_EQ(order.count(), 0);
}

// A store from outside aborts or follows a transaction that has read the variable. A snapshot never contains half of
// it.
TEST_P(strong_atomicity_test, keeps_stores_out_of_snapshots) {
    const std::size_t each = rounds(1200);
    var<long> v{0};
    std::atomic<bool> done{false};
    violations changed;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) v.store(static_cast<long>(i));
            done = true;
        } else {
            const flavour mine = GetParam().of(me);
            while (!done.load()) {
                run(mine, {.read_only = me == 1}, [&](tx& t) {
                    const long seen = v.get(t);
                    for (int i = 0; i < 5; ++i) changed.expect(v.get(t) == seen);
                });
            }
        }
    });
    EXPECT_EQ(changed.count(), 0);
}

TEST_P(strong_atomicity_test, holds_for_values_behind_nodes) {
    const std::size_t each = rounds(200);
    const std::string a(50, 'a'), b(70, 'b');
    var<std::string> text{a};
    std::atomic<bool> done{false};
    violations torn;
    run_threads(3, [&](unsigned me) {
        const flavour mine = GetParam().of(me).unwinding();
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) text.store(i % 2 == 0 ? b : a);
            done = true;
        } else {
            while (!done.load()) {
                const std::string outside = text.load();
                torn.expect(outside == a || outside == b);
                run(mine, [&](tx& t) { text.set(t, text.get(t) == a ? b : a); });
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(strong_atomicity_test);

// Within a transaction of the same thread, load and store are part of that transaction.
TEST(strong_atomicity_in_blocks_test, makes_load_and_store_part_of_the_transaction) {
    var<long> v{1};
    var<std::string> text{"one"};
    EXPECT_FALSE(try_atomically([&](tx& t) {
        v.set(t, 2);
        EXPECT_EQ(v.load(), 2);
        v.store(3);
        text.store("three");
        EXPECT_EQ(v.get(t), 3);
        EXPECT_EQ(text.get(t), "three");
        EXPECT_EQ(text.load(), "three");
        cancel(t);
    }));
    EXPECT_EQ(v.load(), 1);
    EXPECT_EQ(text.load(), "one");
}

}  // namespace
}  // namespace tutti::anomalies
