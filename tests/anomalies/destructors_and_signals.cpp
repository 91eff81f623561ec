// Destructors that run blocks while the attempt around them ends: destructors of locals, of the value that a body
// returns, and of an exception that has replaced a restart.
//
// Catches a signal that is mistaken for another one, or lost, because a block in a destructor ended by a signal of its
// own. Catches a signal that leaves a destructor.
#include <utility>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct deed_failed {};

/// Each function runs blocks on `v`. On its own, a function adds one or has no effect (effect_of).
constexpr void (*deeds[])(var<long>&) = {
    [](var<long>& v) { atomically([&](tx& t) { v.set(t, v.get(t) + 1); }); },
    [](var<long>& v) { v.store(v.load() + 1); },
    [](var<long>& v) {
        (void)try_atomically([&](tx& t) {
            v.set(t, v.get(t) + 1);
            cancel(t);
        });
    },
    [](var<long>& v) {
        try {
            atomically([&](tx& t) {
                v.set(t, v.get(t) + 1);
                throw deed_failed{};
            });
        } catch (const deed_failed&) {}
    },
    [](var<long>& v) {
        atomically([&](tx& t) {
            (void)try_atomically([&](tx& c) {
                v.set(c, 1000);
                cancel(c);
            });
            v.set(t, v.get(t) + 1);
        });
    },
};
constexpr long effect_of(std::size_t deed) { return deed == 2 || deed == 3 ? 0 : 1; }

/// Runs its function in its destructor, unless it was moved from.
class doing {
public:
    doing(var<long>& v, std::size_t deed) : v_{&v}, deed_{deed} {}
    doing(doing&& other) noexcept : v_{std::exchange(other.v_, nullptr)}, deed_{other.deed_} {}
    doing& operator=(doing&&) = delete;
    ~doing() {
        if (v_ != nullptr) deeds[deed_](*v_);
    }

private:
    var<long>* v_;
    std::size_t deed_;
};

class destructors_and_signals_test : public suite_of_flavours {
protected:
    /// Calls f(deed, v) for every deed with a fresh v.
    template <class F>
    static void for_each_deed(F f) {
        for (std::size_t deed = 0; deed < std::size(deeds); ++deed) {
            SCOPED_TRACE(deed);
            var<long> v{0};
            f(deed, v);
        }
    }
    static flavour once() { return GetParam().of(0).unwinding(); }
};

TEST_P(destructors_and_signals_test, destroy_locals_during_a_restart) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        run(once(), [&](tx& t) {
            const doing last{v, deed};
            w.set(t, w.get(t) + 1);
            if (t.attempt() == 1) restart(t);
        });
        EXPECT_EQ(w.load(), 1);
        EXPECT_EQ(v.load(), effect_of(deed));
    });
}

TEST_P(destructors_and_signals_test, destroy_locals_during_a_cancel) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        run(once(), [&](tx& t) {
            w.set(t, 1);
            EXPECT_FALSE(try_atomically([&](tx& c) {
                const doing last{v, deed};
                w.set(c, 2);
                cancel(c);
            }));
            EXPECT_EQ(w.get(t), 1);
        });
        EXPECT_EQ(w.load(), 1);
        EXPECT_EQ(v.load(), 0);
    });
}

TEST_P(destructors_and_signals_test, destroy_locals_during_a_retry) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        run(once(), [&](tx& t) {
            or_else(
                t,
                [&](tx& c) {
                    const doing last{v, deed};
                    w.set(c, w.get(c) + 2);
                    retry(c);
                },
                [&](tx& c) { w.set(c, w.get(c) + 1); });
        });
        EXPECT_EQ(w.load(), 1);
        EXPECT_EQ(v.load(), 0);
    });
}

// The body swallows the restart, so the commit finds it. The value of the dead attempt is then destroyed.
TEST_P(destructors_and_signals_test, destroy_the_value_of_a_failed_attempt) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        {
            const doing made = run(once(), [&](tx& t) {
                doing value{v, deed};
                w.set(t, w.get(t) + 1);
                try {
                    if (t.attempt() == 1) restart(t);
                } catch (...) {}
                return value;
            });
            EXPECT_EQ(w.load(), 1);
            EXPECT_EQ(v.load(), 0);
        }
        EXPECT_EQ(v.load(), effect_of(deed));
    });
}

TEST_P(destructors_and_signals_test, destroy_an_exception_replaced_by_a_restart) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        run(once(), [&](tx& t) {
            w.set(t, w.get(t) + 1);
            try {
                if (t.attempt() == 1) restart(t);
            } catch (...) {
                throw doing{v, deed};
            }
        });
        EXPECT_EQ(w.load(), 1);
        EXPECT_EQ(v.load(), effect_of(deed));
    });
}

TEST_P(destructors_and_signals_test, destroy_an_exception_replaced_by_a_cancel) {
    for_each_deed([](std::size_t deed, var<long>& v) {
        var<long> w{0};
        run(once(), [&](tx& t) {
            EXPECT_FALSE(try_atomically([&](tx& c) {
                w.set(c, 5);
                try {
                    cancel(c);
                } catch (...) {
                    throw doing{v, deed};
                }
            }));
            w.set(t, w.get(t) + 1);
        });
        EXPECT_EQ(w.load(), 1);
        EXPECT_EQ(v.load(), effect_of(deed));
    });
}

INSTANTIATE_TEST_SUITE_P(in, destructors_and_signals_test, revocable_flavours(), flavour_name);

}  // namespace
}  // namespace tutti::anomalies
