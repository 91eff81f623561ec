// Handlers that run at the wrong time, in the wrong order, too often or not at all.
//
// Catches a commit that releases ownership before at_commit, so that effects come in another order than the data.
// Catches a commit that runs handlers of rolled-back attempts, or that drops handlers registered by handlers.
#include <thread>
#include <utility>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class handler_order_test : public suite_of_flavours {};

TEST_P(handler_order_test, is_as_registered_at_commit) {
    std::string trace;
    run(unwinding(), [&](tx& t) {
        t.on_commit([&] { trace += 'E'; });
        t.at_commit([&] { trace += 'C'; });
        t.before_commit([&] { trace += 'A'; });
        t.on_abort([&] { trace += '!'; });
        t.before_commit([&] { trace += 'B'; });
        t.at_commit([&] { trace += 'D'; });
        t.on_commit([&] { trace += 'F'; });
        trace = "body:";
    });
    EXPECT_EQ(trace, "body:ABCDEF");
}

TEST_P(handler_order_test, is_reversed_at_roll_back) {
    std::string trace;
    abort_cause cause = abort_cause::none;
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         t.on_commit([&] { trace += '!'; });
                         t.before_commit([&] { trace += '!'; });
                         t.on_abort([&](abort_cause why) {
                             trace += 'c';
                             cause = why;
                         });
                         t.on_abort([&] { trace += 'b'; });
                         t.on_abort([&] { trace += 'a'; });
                         cancel(t);
                     }),
                 cancelled);
    EXPECT_EQ(trace, "abc");
    EXPECT_EQ(cause, abort_cause::explicit_cancel);
}

TEST_P(handler_order_test, includes_handlers_registered_by_handlers) {
    std::string trace;
    var<int> v{1};
    run(unwinding(), [&](tx& t) {
        t.before_commit([&](tx& last) {
            trace += 'a';
            v.set(last, v.get(last) + 1);
            last.before_commit([&](tx& later) {
                trace += 'b';
                v.set(later, v.get(later) * 10);
                later.on_commit([&] { trace += 'd'; });
                later.at_commit([&] { trace += 'c'; });
            });
        });
        v.set(t, 4);
    });
    EXPECT_EQ(trace, "abcd");
    EXPECT_EQ(v.load(), 50);
}

TEST_P(handler_order_test, lets_before_commit_refuse_by_throwing) {
    var<int> v{1};
    std::string trace;
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         v.set(t, 2);
                         t.on_abort([&](abort_cause why) { trace += name_of(why); });
                         t.at_commit([&] { trace += '!'; });
                         t.before_commit([&](tx& last) {
                             v.set(last, 3);
                             throw std::runtime_error{"no"};
                         });
                         t.before_commit([&] { trace += '!'; });
                     }),
                 std::runtime_error);
    EXPECT_EQ(v.load(), 1);
    EXPECT_EQ(trace, "exception");
}

TEST_P(handler_order_test, lets_on_commit_run_transactions_and_throw) {
    var<int> v{1};
    std::string trace;
    try {
        run(unwinding(), [&](tx& t) {
            v.set(t, 2);
            t.on_commit([&] {
                trace += 'a';
                atomically([&](tx& own) {
                    v.set(own, v.get(own) + 5);
                    own.on_commit([&] { trace += 'b'; });
                });
                throw std::runtime_error{"first"};
            });
            t.on_commit([&] {
                trace += 'c';
                throw std::runtime_error{"second"};
            });
            t.on_commit([&] { trace += 'd'; });
        });
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "first");
    }
    EXPECT_EQ(trace, "abcd");
    EXPECT_EQ(v.load(), 7);
    // The next transaction does not run these handlers again.
    run(unwinding(), [&](tx& t) { v.set(t, 8); });
    EXPECT_EQ(trace, "abcd");
}

// The effects of at_commit handlers come in the order of the data. So the file that the handlers write is a log of the
// counter.
TEST_P(handler_order_test, puts_effects_in_the_order_of_data) {
    const std::size_t each = rounds(300);
    constexpr unsigned threads = 4;
    var<std::size_t> counter{0};
    std::vector<std::size_t> file(threads * each);
    std::atomic<std::size_t> end{0};
    run_threads(threads, [&](unsigned me) {
        const flavour mine = GetParam().of(me).unwinding();
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, [&](tx& t) {
                const std::size_t number = counter.get(t);
                counter.set(t, number + 1);
                t.at_commit([&, number] { file[end.fetch_add(1)] = number; });
            });
        }
    });
    ASSERT_EQ(end.load(), file.size());
    for (std::size_t i = 0; i < file.size(); ++i) ASSERT_EQ(file[i], i);
}

// A reader takes effect at its snapshot, but its at_commit effects come later. Its reads must therefore be current at
// that time.
TEST_P(handler_order_test, runs_at_commit_while_reads_are_current) {
    if (!concurrent() || GetParam().mode != mode::optimistic) GTEST_SKIP() << "no transaction can overtake the reader";
    for (const bool read_only : {false, true}) {
        var<int> v{0};
        int written = 0;
        bool overtaken = false;
        run(unwinding(), {.read_only = read_only}, [&](tx& t) {
            const int seen = v.get(t);
            t.at_commit([&, seen] { EXPECT_EQ(seen, written); });
            if (std::exchange(overtaken, true)) return;
            std::thread{[&] { v.store(written = 1); }}.join();
        });
    }
}

// Under contention every attempt either commits or compensates, and each of its handlers runs once.
TEST_P(handler_order_test, ends_every_attempt_once) {
    const std::size_t each = rounds(250);
    var<long> counter{0};
    std::atomic<long> attempts{0}, commits{0}, aborts{0};
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me).unwinding();
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, [&](tx& t) {
                ++attempts;
                t.on_abort([&] { ++aborts; });  // the first barrier, at which a doomed attempt ends
                t.on_commit([&] { ++commits; });
                counter.set(t, counter.get(t) + 1);
            });
        }
    });
    EXPECT_EQ(commits, static_cast<long>(4 * each));
    EXPECT_EQ(attempts, commits + aborts);
}

TUTTI_IN_EVERY_FLAVOUR(handler_order_test);

}  // namespace
}  // namespace tutti::anomalies
