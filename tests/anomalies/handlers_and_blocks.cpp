// User code at the end of a transaction that runs transactions of its own: on_commit handlers, and destructors of
// captured objects.
//
// Catches an engine that mistakes a signal from a handler's own block for a restart of the finished block. Catches an
// engine that destroys handlers while the commit still owns its writes.
#include <memory>
#include <utility>

#include "anomalies/flavour.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::anomalies {
namespace {

struct refusal {};

class handlers_and_blocks_test : public suite_of_flavours {
protected:
    /// Commits a block with two handlers: `first`, and a handler that counts. An exception of type E must leave the
    /// block, and everything else must have run.
    template <class E, class F>
    void leaves_by(F first) {
        var<int> v{0};
        int others = 0;
        EXPECT_THROW(run(unwinding(),
                         [&](tx& t) {
                             v.set(t, v.get(t) + 1);
                             t.on_commit(first);
                             t.on_commit([&] { ++others; });
                         }),
                     E);
        EXPECT_EQ(v.load(), 1);
        EXPECT_EQ(others, 1);
        // The exception does not affect the next transaction.
        run(unwinding(), [&](tx& t) { v.set(t, 5); });
        EXPECT_EQ(v.load(), 5);
    }
};

TEST_P(handlers_and_blocks_test, a_cancel_leaves_the_handler) {
    var<int> w{0};
    leaves_by<cancelled>([&] {
        atomically([&](tx& own) {
            w.set(own, 1);
            cancel(own);
        });
    });
    leaves_by<refusal>([&] {
        if (!try_atomically([&](tx& own) {
                w.set(own, 1);
                cancel(own);
            })) {
            throw refusal{};
        }
    });
    EXPECT_EQ(w.load(), 0);
}

TEST_P(handlers_and_blocks_test, an_exception_after_a_restart_leaves_the_handler) {
    var<int> w{0};
    leaves_by<refusal>([&] {
        atomically([&](tx& own) {
            w.set(own, 1);
            if (own.attempt() == 1) restart(own);
            throw refusal{};
        });
    });
    EXPECT_EQ(w.load(), 0);
}

TEST_P(handlers_and_blocks_test, a_usage_error_leaves_the_handler) {
    leaves_by<usage_error>([] { atomically([](tx& own) { retry(own); }); });
}

TEST_P(handlers_and_blocks_test, a_missed_deadline_leaves_the_handler) {
    leaves_by<deadline_missed>([] {
        const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
        atomically({.deadline = due, .when_missed = missed_deadline::refuse}, [&](tx& own) {
            while (std::chrono::steady_clock::now() < due) {}
            restart(own);
        });
    });
}

TEST_P(handlers_and_blocks_test, an_interruption_leaves_the_handler) {
    var<int> w{0};
    leaves_by<interrupted>([&] {
        interruption here;
        atomically([&](tx& own) {
            (void)w.get(own);
            here.raise();
            retry(own);
        });
    });
}

TEST_P(handlers_and_blocks_test, a_nested_handlers_exception_leaves_the_handler) {
    leaves_by<cancelled>(
        [] { atomically([](tx& own) { own.on_commit([] { atomically([](tx& inner) { cancel(inner); }); }); }); });
}

/// Counts its living instances in a variable.
class alive_in {
public:
    explicit alive_in(var<long>& count) : count_{count} { add(1); }
    alive_in(const alive_in&) = delete;
    alive_in& operator=(const alive_in&) = delete;
    ~alive_in() { add(-1); }

private:
    void add(long n) {
        atomically([&](tx& t) { count_.set(t, count_.get(t) + n); });
    }
    var<long>& count_;
};

/// Calls one(put) for every `put` that registers a handler which owns its argument.
template <class F>
void register_everywhere(const F& one) {
    one([](tx& t, auto held) { t.before_commit([held = std::move(held)] {}); });
    one([](tx& t, auto held) { t.at_commit([held = std::move(held)] {}); });
    one([](tx& t, auto held) { t.on_commit([held = std::move(held)] {}); });
    one([](tx& t, auto held) { t.on_abort([held = std::move(held)] {}); });
    one([](tx& t, auto held) {
        // A closed block needs no undo, so the undo is destroyed in the body then.
        if (!concurrent() || t.irrevocable()) t.on_abort([held = std::move(held)] {});
        else open_nested(t, [](tx&) {}, [held = std::move(held)](tx&) {});
    });
}

TEST_P(handlers_and_blocks_test, captured_data_is_destroyed_after_a_commit) {
    register_everywhere([&](auto put) {
        var<long> alive{0}, v{0};
        auto held = std::make_shared<alive_in>(alive);
        run(unwinding(), [&](tx& t) {
            v.set(t, v.get(t) + 1);
            put(t, held);
            held = nullptr;  // after the call, which may start the block over
        });
        EXPECT_EQ(alive.load(), 0);
        // The commit no longer owns anything: another thread can lock the same variables.
        run_threads(1, [&](unsigned) { atomically([&](tx& t) { v.set(t, v.get(t) + alive.get(t) + 1); }); });
        EXPECT_EQ(v.load(), 2);
    });
}

TEST_P(handlers_and_blocks_test, captured_data_is_destroyed_after_a_roll_back) {
    register_everywhere([&](auto put) {
        var<long> alive{0}, v{0};
        auto held = std::make_shared<alive_in>(alive);
        EXPECT_FALSE(try_atomically({.mode = unwinding().mode}, [&](tx& t) {
            v.set(t, 1);
            put(t, held);
            held = nullptr;  // after the call, which may start the block over
            cancel(t);
        }));
        EXPECT_EQ(alive.load(), 0);
    });
}

TEST_P(handlers_and_blocks_test, captured_data_outlives_a_nested_roll_back) {
    register_everywhere([&](auto put) {
        var<long> alive{0}, v{0};
        auto held = std::make_shared<alive_in>(alive);
        run(unwinding(), [&](tx& t) {
            v.set(t, alive.get(t));
            EXPECT_FALSE(try_atomically([&](tx& c) {
                put(c, held);
                held = nullptr;  // after the call, which may start the block over
                cancel(c);
            }));
            alive.set(t, alive.get(t) + v.get(t));
        });
        EXPECT_EQ(alive.load(), 1);
    });
}

TUTTI_IN_EVERY_FLAVOUR(handlers_and_blocks_test);

// A block that a compensation runs must not release locks that later compensations rely on.
TEST(handlers_and_locks_test, keep_locks_until_the_last_undo) {
    if (!concurrent()) GTEST_SKIP() << "abstract locks are not taken";
    support::watchdog guard{"handlers_and_locks_test"};
    const int name = 0;
    var<int> v{0};
    bool held = true, undone = false;
    atomically([&](tx& t) {
        open_nested(
            t, {{&name}}, [&](tx& i) { v.set(i, 1); },
            [&](tx& u) {
                v.set(u, 0);
                undone = true;
            });
        // Runs before the undo. Its own block ends with an on_commit handler, which makes a commit release everything.
        t.on_abort([&] { atomically([](tx& own) { own.on_commit([] {}); }); });
        t.on_abort([&] { EXPECT_FALSE(undone); });
        if (t.attempt() > 1) return;
        t.on_abort([&] {
            atomically([](tx& own) { own.on_commit([] {}); });
            std::jthread{[&] {
                held = !try_atomically([&](tx& other) {
                    if (other.attempt() > 1) cancel(other);
                    acquire(other, {&name});
                });
            }}.join();
        });
        restart(t);
    });
    EXPECT_TRUE(held);
    EXPECT_TRUE(undone);
    EXPECT_EQ(v.load(), 1);
}

}  // namespace
}  // namespace tutti::anomalies
