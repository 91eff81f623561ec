// Exceptions that are thrown in blocks, leave them, and are handled inside.
#include "programs.hpp"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace language {

// clang-format off

namespace {

long thrown_from = 0;

[[gnu::transaction_safe]] void throw_number(int n) { throw n; }

}  // namespace

/// An exception that leaves a block commits it; what a nested block did before it was cancelled is gone.
void exceptions() {
    for (int i = 1; i <= 1000; ++i) {
        bool caught = false;
        try {
            __transaction_atomic {
                thrown_from = i;
                __transaction_atomic { thrown_from = -1; __transaction_cancel; }
                throw_number(i);
            }
        } catch (int n) {
            caught = n == i;
        }
        EXPECT(caught && thrown_from == i);
        EXPECT(std::uncaught_exceptions() == 0);
        EXPECT(_ITM_inTransaction() == 0);
    }
}

/// An attempt that starts over while an exception is being handled leaves nothing behind.
void restarted_exceptions() {
    const another_context there{another};
    long handled = 0;
    restarts_left = 50;
    __transaction_atomic {
        try {
            throw_number(7);
        } catch (...) {
            restart_some_times();
            ++handled;
        }
    }
    EXPECT(handled == 1);
    EXPECT(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

namespace {

[[gnu::transaction_safe]] void throw_text() { throw std::logic_error("a text that is too long to be kept in place"); }

}  // namespace

/// libstdc++'s own clones: objects with memory, thrown and caught by threads that restart each other.
void exceptions_under_contention() {
    static long count = 0;
    std::atomic<long> caught{0};
    run_crew(4, [&](int) {
        for (int i = 0; i != 500; ++i) {
            try {
                __transaction_atomic { ++count; throw_text(); }
            } catch (const std::logic_error& e) {
                if (std::string_view{e.what()}.starts_with("a text")) ++caught;
            }
            EXPECT(std::uncaught_exceptions() == 0);
            __transaction_atomic {
                try { ++count; throw_text(); } catch (...) { ++count; }
            }
        }
    });
    EXPECT(caught == 2000 && count == 6000);
}

// clang-format on

}  // namespace language
