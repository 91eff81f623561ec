// Exceptions that are thrown in blocks, leave them, or are handled inside.
#include "programs.hpp"

#include <atomic>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace language {

// clang-format off

namespace {

long thrown_from = 0;

[[gnu::transaction_safe]] void throw_number(int n) { throw n; }

}  // namespace

/// An exception that leaves a block commits the block. The effects of a cancelled nested block are gone.
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

/// An attempt that starts over during the handling of an exception leaves nothing behind.
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

namespace {

long destroyed = 0;

struct counted {
    [[gnu::transaction_safe]] explicit counted(long n) : first{n}, second{n} {}
    counted(const counted&) = delete;
    TUTTI_PURE ~counted() { ++destroyed; }
    long first, second;
};

[[gnu::transaction_safe]] void throw_counted(long n) { throw counted{n}; }

struct unmade {
    [[gnu::transaction_safe]] explicit unmade(long n) : first{n} { second = n; throw_number(4); }
    long first, second;
};
[[gnu::transaction_safe]] void throw_unmade() { throw unmade{1}; }

/// The size of an exception's memory: the runtime's header and the object.
constexpr std::size_t exception_size = 128 + sizeof(counted);
std::vector<unsigned char*> taken;
TUTTI_PURE void take_free_memory() {
    taken.push_back(static_cast<unsigned char*>(std::malloc(exception_size)));
    std::memset(taken.back(), 0x55, exception_size);
}
void expect_taken_memory_as_it_was() {
    for (unsigned char* const memory : taken) {
        for (std::size_t i = 0; i != exception_size; ++i) EXPECT(memory[i] == 0x55);
        std::free(memory);
    }
    taken.clear();
}

}  // namespace

/// An exception is handled before its block starts over or is cancelled. The memory in which the undo restores values
/// still belongs to the exception, and so does libstdc++'s allocation for it. The exception's destructor runs once,
/// after the commit.
void exceptions_that_are_over() {
    const another_context there{another};
    destroyed = 0;
    restarts_left = 20;
    long sum = 0;
    __transaction_atomic {
        try { throw_counted(5); } catch (const counted& e) { sum += e.first + e.second; }
        take_free_memory();
        restart_some_times();
    }
    EXPECT(sum == 10 && destroyed == 1);
    expect_taken_memory_as_it_was();
    restarts_left = 20;
    __transaction_atomic {
        __transaction_atomic {
            try { throw_counted(5); } catch (const counted& e) { sum += e.first; }
            take_free_memory();
            __transaction_cancel;
        }
        // Thrown again, and caught outside the handler.
        try {
            try { throw_counted(7); } catch (const counted&) { throw; }
        } catch (counted& e) { e.first = 8; sum += e.first; }
        take_free_memory();
        restart_some_times();
    }
    EXPECT(sum == 18 && destroyed == 2);
    expect_taken_memory_as_it_was();
    // An exception that leaves the block after a handler has caught it.
    restarts_left = 3;
    try {
        __transaction_atomic {
            restart_some_times();
            try { throw_counted(9); } catch (const counted&) { ++sum; throw; }
        }
    } catch (const counted& e) {
        EXPECT(e.first == 9 && destroyed == 2);
    }
    EXPECT(sum == 19 && destroyed == 3);
    // An exception whose own constructor throws.
    restarts_left = 20;
    __transaction_atomic {
        try { throw_unmade(); } catch (int n) { sum += n - 4; }
        take_free_memory();
        restart_some_times();
    }
    EXPECT(sum == 19);
    expect_taken_memory_as_it_was();
    restarts_left = 20;
    __transaction_atomic {
        try { throw_text(); } catch (...) { ++sum; }
        restart_some_times();
    }
    EXPECT(sum == 20 && std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

/// libstdc++'s own clones: objects with memory, thrown and caught by threads that restart each other.
void exceptions_under_contention() {
    static long count = 0;
    std::atomic<long> caught{0};
    run_threads(4, [&](int) {
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
