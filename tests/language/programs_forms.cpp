// The syntactic forms of blocks, and blocks of C beside those of C++.
#include "programs.hpp"

extern "C" {
// programs_in_c.c
long raise_in_c(void);
[[gnu::transaction_safe]] void add_in_c(long* to, long what);

/// Called by a block of C.
[[gnu::transaction_safe]] void add_in_cpp(long* to, long what) {
    // clang-format off
    __transaction_atomic { *to += what; if (what < 0) __transaction_cancel; }
    // clang-format on
}
}

namespace language {

// clang-format off

namespace {

long value = 0;

long next() { return __transaction_atomic(++value); }
long next_relaxed() { return __transaction_relaxed(++value); }
void raise_twice() __transaction_atomic { ++value; ++value; }
struct numbered {
    long number;
    numbered() __transaction_atomic : number(++value) { ++value; }
};
[[gnu::transaction_safe]] void throw_number() { throw 1; }
[[gnu::transaction_safe, gnu::noinline]] void raise_and_restart() {
    __transaction_atomic { ++value; restart_some_times(); }
}

}  // namespace

/// A block restarts from inside an inlined inner block. After the restart, the block still ends at its own end.
void restarted_within() {
    const another_context there{another};
    restarts_left = 3;
    __transaction_atomic {
        ++value;
        raise_and_restart();
    }
    EXPECT(value == 2 && _ITM_inTransaction() == 0);
    value = 0;
}

/// Expressions, whole functions, and the blocks of the technical specification, in several threads at once.
void forms() {
    restarted_within();
    run_threads(4, [](int) {
        for (int i = 0; i != 500; ++i) {
            const long before = next();
            EXPECT(next_relaxed() > before);
            raise_twice();
            EXPECT(numbered{}.number > before);
            atomic_noexcept { ++value; }
            atomic_commit { ++value; }
        }
    });
    EXPECT(value == 4 * 500 * 8);
    try {
        atomic_commit { ++value; throw_number(); }
    } catch (int) {
        ++value;
    }
    EXPECT(value == 4 * 500 * 8 + 2);
}

/// No exception may leave a noexcept block.
void thrown_out_of_noexcept() {
    atomic_noexcept { ++value; throw_number(); }
}

/// A block in one language calls a function of the other language. That function has a clone, and blocks of its own.
void two_languages() {
    run_threads(4, [](int) {
        for (int i = 0; i != 500; ++i) {
            raise_in_c();
            __transaction_atomic { add_in_c(&value, 1); add_in_c(&value, -7); ++value; }
        }
    });
    EXPECT(value == 4 * 500 * 2 && raise_in_c() == 4 * 500 * 11 + 11);
}

// clang-format on

}  // namespace language
