// Faulty exceptions: a roll-back that keeps some writes, and a restart that skips destructors. Also a body that
// swallows the restart and continues with a stale state.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

/// Has no base class, as user types may.
struct refusal {
    int number;
    std::string text;
};

class exceptions_test : public suite_of_flavours {};

TEST_P(exceptions_test, roll_back_and_leave_with_their_value) {
    var<long> v{1};
    std::uint16_t plain = 1;
    try {
        run(unwinding(), [&](tx& t) {
            v.set(t, 2);
            store(t, &plain, 2);
            throw refusal{42, "as thrown"};
        });
        ADD_FAILURE();
    } catch (const refusal& r) {
        EXPECT_EQ(r.number, 42);
        EXPECT_EQ(r.text, "as thrown");
    }
    EXPECT_EQ(v.load(), 1);
    EXPECT_EQ(plain, 1);
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         v.set(t, 2);
                         throw std::bad_alloc{};
                     }),
                 std::bad_alloc);
    EXPECT_EQ(v.load(), 1);
    run(unwinding(), [&](tx& t) { v.set(t, v.get(t) + 1); });
    EXPECT_EQ(v.load(), 2);
}

// An exception that is caught within the body does not affect the transaction.
TEST_P(exceptions_test, change_nothing_if_caught_inside) {
    var<long> v{1};
    run(unwinding(), [&](tx& t) {
        try {
            v.set(t, 2);
            throw refusal{1, ""};
        } catch (const refusal& r) {
            v.set(t, v.get(t) + r.number);
        }
    });
    EXPECT_EQ(v.load(), 3);
}

// The returned value may throw when it is copied out.
TEST_P(exceptions_test, destroy_the_result_of_a_failed_attempt) {
    struct fragile {
        fragile() = default;
        fragile(const fragile&) { throw refusal{7, ""}; }
    };
    var<long> v{1};
    const fragile source;
    EXPECT_THROW((void)run(unwinding(),
                           [&](tx& t) -> fragile {
                               v.set(t, 2);
                               return source;
                           }),
                 refusal);
    EXPECT_EQ(v.load(), 1);
}

TUTTI_IN_EVERY_FLAVOUR(exceptions_test);

class restarts_test : public exceptions_test {};

TEST_P(restarts_test, run_destructors) {
    struct guard {
        explicit guard(int& count) : open{count} { ++open; }
        ~guard() { --open; }
        int& open;
    };
    int open = 0, attempts = 0;
    run(unwinding(), [&](tx& t) {
        EXPECT_EQ(open, 0);
        const guard one{open};
        atomically([&](tx& c) {
            const guard two{open};
            EXPECT_EQ(open, 2);
            if (++attempts < 4) restart(c);
        });
        const guard three{open};
        if (++attempts < 8) restart(t);
    });
    EXPECT_EQ(open, 0);
    EXPECT_EQ(attempts, 9);  // inner 4, outer 1, inner 1, outer 1, inner 1, outer 1
}

// `catch (const std::exception&)` lets a restart pass.
TEST_P(restarts_test, are_not_standard_exceptions) {
    int attempts = 0, caught = 0;
    run(unwinding(), [&](tx& t) {
        try {
            if (++attempts == 1) restart(t);
        } catch (const std::exception&) {
            ++caught;
        }
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(caught, 0);
}

// `catch (...)` swallows the restart. The next barrier raises it again, so the body cannot use a stale state.
TEST_P(restarts_test, are_raised_again_at_the_next_barrier) {
    var<long> v{0};
    std::uint64_t plain = 0;
    int beyond = 0;
    for (int barrier = 0; barrier < 5; ++barrier) {
        bool swallowed = false;
        run(unwinding(), [&](tx& t) {
            v.set(t, v.get(t) + 1);
            if (!swallowed) {
                try {
                    restart(t);
                } catch (...) {
                    swallowed = true;
                }
                switch (barrier) {
                    case 0: (void)v.get(t); break;
                    case 1: v.set(t, 1000); break;
                    case 2: (void)load(t, &plain); break;
                    case 3: store(t, &plain, 1000u); break;
                    default: atomically([&](tx& c) { v.set(c, 1000); });
                }
                ++beyond;
            }
        });
    }
    EXPECT_EQ(v.load(), 5);
    EXPECT_EQ(plain, 0u);
    EXPECT_EQ(beyond, 0);
}

TEST_P(restarts_test, are_raised_again_at_the_commit) {
    var<long> v{0};
    int attempts = 0;
    run(unwinding(), [&](tx& t) {
        v.set(t, v.get(t) + 1);
        if (++attempts > 1) return;
        try {
            restart(t);
        } catch (...) {}
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(v.load(), 1);
}

// A body that has swallowed a cancel does not commit.
TEST_P(restarts_test, a_swallowed_cancel_still_cancels) {
    var<long> v{0};
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         v.set(t, 1);
                         try {
                             cancel(t);
                         } catch (...) {}
                     }),
                 cancelled);
    EXPECT_EQ(v.load(), 0);
}

// A destructor that runs while a restart unwinds uses the transaction. A second signal thrown there would end the
// program, so its barriers must return. The values that they read and write no longer matter.
TEST_P(restarts_test, allow_barriers_in_destructors) {
    struct meddler {
        meddler(tx& tr, var<long>& v, std::uint64_t& p) : t{tr}, variable{v}, plain{p} {}
        ~meddler() {
            variable.set(t, variable.get(t) + 100);
            store(t, &plain, load(t, &plain) + 100);
        }
        tx& t;
        var<long>& variable;
        std::uint64_t& plain;
    };
    var<long> v{0};
    std::uint64_t plain = 0;
    int attempts = 0;
    run(unwinding(), [&](tx& t) {
        const meddler m{t, v, plain};
        v.set(t, v.get(t) + 1);
        if (++attempts < 3) restart(t);
    });
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(v.load(), 101);
    EXPECT_EQ(plain, 100u);
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         const meddler m{t, v, plain};
                         throw refusal{1, ""};
                     }),
                 refusal);
    EXPECT_EQ(v.load(), 101);
    EXPECT_EQ(plain, 100u);
}

TUTTI_IN_REVOCABLE_FLAVOURS(restarts_test);

// A body that never returns, so that the compiler sees no regular way out of the function that was jumped into. An
// exception that leaves the body must still find the caller's registers. `noinline` and the many values make the caller
// keep values in callee-saved registers.
var<long> scratch{0};

[[gnu::noinline]] long after_a_jump_and_a_cancel(long a, long b, long c, long d, long e) {
    try {
        atomically(no_unwind, [&](tx& t) {
            scratch.set(t, a);
            cancel(t);
        });
    } catch (const cancelled&) {}
    return a + 2 * b + 3 * c + 4 * d + 5 * e;
}
[[gnu::noinline]] long after_a_jump_and_a_throw(long a, long b, long c, long d, long e) {
    try {
        atomically(no_unwind, [&](tx& t) {
            scratch.set(t, a);
            if (t.attempt() == 1) restart(t);
            throw refusal{};
        });
    } catch (const refusal&) {}
    return a + 2 * b + 3 * c + 4 * d + 5 * e;
}

TEST(exceptions_after_a_jump_test, find_the_registers_of_the_caller) {
    EXPECT_EQ(after_a_jump_and_a_cancel(1, 2, 3, 4, 5), 55);
    EXPECT_EQ(after_a_jump_and_a_throw(1, 2, 3, 4, 5), 55);
}

// Conflicts at random places, many locals with destructors, and a result that owns memory.
TEST(exceptions_under_contention_test, run_destructors_and_lose_nothing) {
    support::watchdog guard{"exceptions_under_contention_test"};
    const std::size_t each = rounds(500);
    std::array<var<long>, 4> data{};
    std::atomic<long> open{0}, refusals{0};
    run_threads(4, [&](unsigned me) {
        for (std::size_t i = 0; i < each; ++i) {
            try {
                const std::string result = atomically([&](tx& t) {
                    struct local {
                        explicit local(std::atomic<long>& n) : count{n} { ++count; }
                        ~local() { --count; }
                        std::atomic<long>& count;
                    } const one{open};
                    const std::string text(64, 'x');
                    for (std::size_t k = 0; k < data.size(); ++k) {
                        auto& v = data[(k + me) % data.size()];
                        v.set(t, v.get(t) + 1);
                        if (k == 2 && i % 5 == 0) throw refusal{0, text};
                    }
                    return text;
                });
                if (result.size() != 64) open += 1'000'000;
            } catch (const refusal& r) {
                if (r.text.size() == 64) ++refusals;
            }
        }
    });
    EXPECT_EQ(open, 0);
    const long refused = static_cast<long>((each + 4) / 5 * 4);
    EXPECT_EQ(refusals, refused);
    for (auto& v : data) EXPECT_EQ(v.load(), static_cast<long>(4 * each) - refused);
}

}  // namespace
}  // namespace tutti::anomalies
