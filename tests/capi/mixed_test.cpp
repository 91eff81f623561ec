// C and C++ blocks inside each other: signals and errors find their block, and every destructor runs.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include "mixed_bodies.h"
#include "tutti/c/interop.hpp"
#include "tutti/tutti.hpp"

namespace {

using tutti::from_c;
using tutti::to_c;
using tutti::tx;

/// Counts the frames that were left through their destructors.
struct frame_guard {
    explicit frame_guard(int& c) : count{c} {}
    ~frame_guard() { ++count; }
    frame_guard(const frame_guard&) = delete;
    frame_guard& operator=(const frame_guard&) = delete;
    int& count;
};

/// Runs a C++ callable as the body of a C block. If the block may restart, the callable must not hold objects with
/// destructors.
template <class F>
int in_c_block(F f) {
    return c_run([](tutti_tx* t, void* callable) { (*static_cast<F*>(callable))(from_c(t)); }, &f);
}

class mixed : public testing::Test {
protected:
    std::uint64_t value() const { return tutti_var_load(&v_); }
    /// Sets `gate` to 1, but only after a body has found 0 in it, so a body that waits for it runs at least twice.
    std::thread opener_of(tutti_var& gate) {
        return std::thread{[&] {
            while (!std::atomic_ref{found_shut_}.load()) std::this_thread::yield();
            tutti_var_store(&gate, 1);
        }};
    }
    tutti_var v_ = TUTTI_VAR_INIT(0);
    bool found_shut_ = false;  // accessed only by atomic operations, also from C
};

// ---- C++ outside, C inside ------------------------------------------------------------------------------------------

TEST_F(mixed, a_c_function_works_in_a_cpp_block) {
    tutti::atomically([&](tx& t) { c_add(to_c(t), &v_, 3); });
    EXPECT_EQ(value(), 3u);
}

TEST_F(mixed, a_restart_in_c_unwinds_the_cpp_block) {
    unsigned restarts = 2;
    int destroyed = 0;
    tutti::atomically([&](tx& t) {
        const frame_guard guard{destroyed};
        c_add_and_restart(to_c(t), &v_, &restarts);
    });
    EXPECT_EQ(value(), 1u);
    EXPECT_EQ(destroyed, 3);
}

TEST_F(mixed, a_restart_in_c_jumps_to_a_block_without_destructors) {
    unsigned restarts = 2;
    tutti::atomically(tutti::no_unwind, [&](tx& t) { c_add_and_restart(to_c(t), &v_, &restarts); });
    EXPECT_EQ(value(), 1u);
}

TEST_F(mixed, a_nested_c_block_cancels_alone) {
    int result = -1;
    tutti::atomically([&](tx& t) {
        c_add(to_c(t), &v_, 1);
        result = c_add_and_cancel(&v_);
        EXPECT_EQ(tutti_get(to_c(t), &v_), 1u);
    });
    EXPECT_EQ(result, TUTTI_CANCELLED);
    EXPECT_EQ(value(), 1u);
}

TEST_F(mixed, a_retry_in_a_nested_c_block_unwinds_the_cpp_block) {
    int destroyed = 0, runs = 0;
    std::thread opener = opener_of(v_);
    tutti::atomically([&](tx&) {
        const frame_guard guard{destroyed};
        ++runs;
        EXPECT_EQ(c_wait_nested(&v_, &found_shut_), TUTTI_COMMITTED);
    });
    opener.join();
    EXPECT_EQ(destroyed, runs);
    EXPECT_GE(runs, 2);
}

TEST_F(mixed, an_error_in_c_is_an_exception_in_the_cpp_block) {
    int destroyed = 0;
    const auto faulty = [&](tx& t) {
        const frame_guard guard{destroyed};
        c_add(to_c(t), &v_, 1);
        c_misuse(to_c(t));
    };
    EXPECT_THROW(tutti::atomically(faulty), tutti::usage_error);
    EXPECT_THROW(tutti::atomically(tutti::no_unwind, faulty), tutti::usage_error);
    EXPECT_EQ(destroyed, 2);
    EXPECT_EQ(value(), 0u);
}

TEST_F(mixed, an_error_in_a_nested_c_block_is_its_result) {
    tutti::atomically([&](tx& t) {
        c_add(to_c(t), &v_, 1);
        EXPECT_EQ(c_misuse_nested(), TUTTI_ERROR_USE);
    });
    EXPECT_EQ(value(), 1u);
}

// ---- C outside, C++ inside ------------------------------------------------------------------------------------------

TEST_F(mixed, a_cpp_body_works_in_a_c_block) {
    EXPECT_EQ(in_c_block([&](tx& t) { tutti_set(to_c(t), &v_, 4); }), TUTTI_COMMITTED);
    EXPECT_EQ(value(), 4u);
}

TEST_F(mixed, a_users_exception_rolls_back_and_propagates) {
    EXPECT_THROW(in_c_block([&](tx& t) {
                     c_add(to_c(t), &v_, 1);
                     throw std::runtime_error{"mine"};
                 }),
                 std::runtime_error);
    EXPECT_EQ(value(), 0u);
    EXPECT_EQ(tutti_current(), nullptr);
}

TEST_F(mixed, a_users_exception_passes_nested_c_blocks) {
    const auto child = [&](tx& t) {
        c_add(to_c(t), &v_, 1);
        throw std::runtime_error{"mine"};
    };
    EXPECT_EQ(in_c_block([&](tx& t) {
                  c_add(to_c(t), &v_, 10);
                  EXPECT_THROW(in_c_block(child), std::runtime_error);
                  EXPECT_EQ(tutti_get(to_c(t), &v_), 10u);
              }),
              TUTTI_COMMITTED);
    EXPECT_EQ(value(), 10u);
    EXPECT_THROW(in_c_block([&](tx&) { in_c_block(child); }), std::runtime_error);
    EXPECT_EQ(value(), 10u);
}

TEST_F(mixed, the_librarys_exceptions_become_results) {
    EXPECT_EQ(in_c_block([&](tx& t) {
                  c_add(to_c(t), &v_, 1);
                  throw std::bad_alloc{};
              }),
              TUTTI_ERROR_MEMORY);
    EXPECT_EQ(in_c_block([&](tx& t) {
                  c_add(to_c(t), &v_, 1);
                  tutti::atomically([](tx& inner) { tutti::cancel(inner); });
              }),
              TUTTI_CANCELLED);
    EXPECT_EQ(in_c_block([&](tx& t) {
                  c_add(to_c(t), &v_, 1);
                  tutti::atomically([](tx& inner) { c_misuse(to_c(inner)); });
              }),
              TUTTI_ERROR_USE);
    EXPECT_EQ(value(), 0u);
}

TEST_F(mixed, a_nested_cpp_block_restarts_and_cancels_alone) {
    int runs = 0, destroyed = 0;
    unsigned restarts = 3;
    EXPECT_EQ(in_c_block([&](tx&) {
                  ++runs;
                  tutti::atomically([&](tx& inner) {
                      const frame_guard guard{destroyed};
                      c_add_and_restart(to_c(inner), &v_, &restarts);
                  });
                  EXPECT_FALSE(tutti::try_atomically([&](tx& inner) {
                      const frame_guard guard{destroyed};
                      c_add(to_c(inner), &v_, 5);
                      tutti::cancel(inner);
                  }));
              }),
              TUTTI_COMMITTED);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(destroyed, 5);
    EXPECT_EQ(value(), 1u);
}

TEST_F(mixed, a_retry_in_a_nested_cpp_block_unwinds_to_the_c_block) {
    int runs = 0, destroyed = 0;
    std::thread opener = opener_of(v_);
    EXPECT_EQ(in_c_block([&](tx&) {
                  ++runs;
                  tutti::atomically([&](tx& inner) {
                      const frame_guard guard{destroyed};
                      if (tutti_get(to_c(inner), &v_) != 0) return;
                      std::atomic_ref{found_shut_} = true;
                      tutti::retry(inner);
                  });
              }),
              TUTTI_COMMITTED);
    opener.join();
    EXPECT_EQ(destroyed, runs);
    EXPECT_GE(runs, 2);
}

// C++ in C in C++ in C: a restart of the outermost block passes all of them, each in its own way.
TEST_F(mixed, a_signal_passes_four_layers) {
    tutti_var gate = TUTTI_VAR_INIT(0);
    int outer = 0, inner = 0, runs = 0;
    std::thread opener = opener_of(gate);
    tutti::atomically([&](tx&) {
        const frame_guard first{outer};
        ++runs;
        EXPECT_EQ(in_c_block([&](tx&) {
                      tutti::atomically([&](tx& t) {
                          const frame_guard second{inner};
                          EXPECT_EQ(c_wait_nested(&gate, &found_shut_), TUTTI_COMMITTED);
                          c_add(to_c(t), &v_, 1);
                      });
                  }),
                  TUTTI_COMMITTED);
    });
    opener.join();
    EXPECT_GE(runs, 2);
    EXPECT_EQ(outer, runs);
    EXPECT_EQ(inner, runs);
    EXPECT_EQ(value(), 1u);
}

TEST_F(mixed, an_exception_of_an_on_commit_handler_leaves_a_c_block_that_committed) {
    EXPECT_THROW(in_c_block([&](tx& t) {
                     c_add(to_c(t), &v_, 1);
                     t.on_commit([] { throw std::runtime_error{"late"}; });
                 }),
                 std::runtime_error);
    EXPECT_EQ(value(), 1u);
}

// ---- data -----------------------------------------------------------------------------------------------------------

TEST_F(mixed, a_var_of_eight_bytes_is_a_c_variable) {
    tutti::var<std::uint64_t> v{7};
    auto* const c = reinterpret_cast<tutti_var*>(&v);
    EXPECT_EQ(tutti_var_load(c), 7u);
    tutti::atomically([&](tx& t) {
        v.set(t, 8);
        EXPECT_EQ(tutti_get(to_c(t), c), 8u);
        c_add(to_c(t), c, 1);
        EXPECT_EQ(v.get(t), 9u);
    });
    EXPECT_EQ(v.load(), 9u);
}

TEST_F(mixed, macros_work_in_cpp) {
    tutti_options how = TUTTI_OPTIONS_INIT;
    how.name = "mixed";
    const int result =
        tutti_atomically(&how, [](tutti_tx* t, void* v) { c_add(t, static_cast<tutti_var*>(v), 2); }, &v_);
    EXPECT_EQ(result, TUTTI_COMMITTED);
    EXPECT_EQ(value(), 2u);
}

// Both kinds of restart under real conflicts.
TEST_F(mixed, counters_add_up_under_contention) {
    constexpr int rounds = 3000;
    std::thread in_cpp{[&] {
        for (int i = 0; i < rounds; ++i) tutti::atomically([&](tx& t) { c_add(to_c(t), &v_, 1); });
    }};
    std::thread in_c{[&] {
        for (int i = 0; i < rounds; ++i) in_c_block([&](tx& t) { c_add(to_c(t), &v_, 1); });
    }};
    std::thread in_both{[&] {
        for (int i = 0; i < rounds; ++i) {
            in_c_block([&](tx&) { tutti::atomically([&](tx& t) { c_add(to_c(t), &v_, 1); }); });
        }
    }};
    in_cpp.join();
    in_c.join();
    in_both.join();
    EXPECT_EQ(value(), 3u * rounds);
}

}  // namespace
