// Makes one call of the C library in every way: plainly, which gives the expected result, and in blocks of the language
// and of the library. The blocks commit, restart, cancel, or contain a nested block that is cancelled first. The
// result, errno and the memory must be equal; after a cancel, the memory must be as before.
#pragma once

#include <cerrno>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "tutti/libc/functions.hpp"
#include "tutti/tutti.hpp"

extern "C" [[gnu::transaction_pure]] void _ITM_abortTransaction(int why);

namespace differential {

/// The memory that a call may read and write.
struct arena {
    alignas(16) char bytes[1024];
    bool operator==(const arena& other) const { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
};

/// Converts a result without addresses: pointers become offsets in the arena, and comparisons keep only their sign.
struct as_is {
    template <class T>
    T operator()(const arena& a, T value) const {
        if constexpr (std::is_pointer_v<T>) {
            const auto offset = reinterpret_cast<std::intptr_t>(value) - reinterpret_cast<std::intptr_t>(&a);
            return reinterpret_cast<T>(value == nullptr ? -1 : offset);
        } else {
            return value;
        }
    }
};
struct sign {
    int operator()(const arena&, int value) const { return (value > 0) - (value < 0); }
};

/// Sets the locale that locales.sh has chosen by the environment.
inline void enter_locale() {
    const char* const name = std::getenv("TUTTI_TEST_LOCALE");
    if (name == nullptr || std::setlocale(LC_ALL, name) != nullptr) return;
    std::fprintf(stderr, "there is no locale %s\n", name);
    std::exit(1);
}

/// Returns true if glibc's strxfrm or wcsxfrm of `from` writes exactly its result. C does not define the content of a
/// buffer that is too small, or of the bytes past the end. Some locales write there temporarily. Both buffers are in w.
template <class C>
bool writes_the_result_alone(const arena& w, std::size_t (*transform)(C*, const C*, std::size_t), const C* to,
                             const C* from, std::size_t size) {
    arena copy = w;
    const auto in_copy = [&](const C* at) {
        return reinterpret_cast<C*>(copy.bytes + (reinterpret_cast<const char*>(at) - w.bytes));
    };
    const std::size_t n = transform(in_copy(to), in_copy(from), size);
    if (n >= size) return false;
    const auto begin = static_cast<std::size_t>(reinterpret_cast<const char*>(to + n + 1) - w.bytes);
    return std::memcmp(copy.bytes + begin, w.bytes + begin, sizeof w.bytes - begin) == 0;
}

inline bool never = false;
/// Returns the number of restarts of the next block, which differs from call to call.
inline int next_restarts() noexcept {
    static constexpr int all[] = {1, 2, 3, 10, 100};
    static unsigned calls = 0;
    return all[calls++ % std::size(all)];
}
inline int restarts_left = 0;
[[gnu::transaction_pure, gnu::noinline]] inline void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}

// GCC 12 drops a __transaction_cancel inside a template, so these blocks are in functions that are no templates.
struct action {
    [[gnu::transaction_safe]] virtual void operator()() = 0;
};
template <class F>
struct action_of final : action {
    explicit action_of(F& f) : f_{f} {}
    [[gnu::transaction_safe]] void operator()() override { f_(); }
    F& f_;
};
inline void restarted_block(action& act) {
    __transaction_atomic {
        act();
        restart_some_times();
        if (never) __transaction_cancel;  // without a cancel, a block that runs alone has no barriers
    }
}
inline void cancelled_block(action& act) {
    __transaction_atomic {
        act();
        __transaction_cancel;
    }
}
inline void nested_blocks(action& act) {
    __transaction_atomic {
        __transaction_atomic {
            act();
            __transaction_cancel;
        }
        act();
    }
}

[[gnu::transaction_pure, gnu::noinline]] inline void clear_errno() { errno = 0; }  // a restart may have set it

struct cancelled {};

[[noreturn]] inline void fail(const char* call, const char* how, const char* what) {
    std::fprintf(stderr, "%s, %s: another %s than in plain code\n", call, how, what);
    std::abort();
}

template <class T>
bool same(const T& a, const T& b) {
    if constexpr (std::is_floating_point_v<T>)
        return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
    else return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Checks one call. `plain` gets the arena, and `library` the transaction and the arena. GCC moves functions that glibc
/// declares pure across accesses to errno although they set errno; `is_pure` excludes errno from the check.
template <class Normal, class Plain, class Library>
void check(const char* call, const arena& before, Normal normal, Plain plain, Library library, bool is_pure = false) {
    arena expected = before;
    errno = 0;
    const auto result = normal(expected, plain(expected));
    const int error = errno;
    using value = std::decay_t<decltype(plain(expected))>;

    arena a = before;
    value got{};
    const auto expect = [&](const char* how) {
        if (!same(normal(a, got), result)) fail(call, how, "result");
        if (errno != error && !is_pure) fail(call, how, "errno");
        if (!(a == expected)) fail(call, how, "memory");
        a = before;
        got = value{};
        errno = 0;
    };
    const auto expect_nothing = [&](const char* how) {
        if (!(a == before)) fail(call, how, "memory");
        a = before;
        errno = 0;
    };
    errno = 0;
    __transaction_atomic { got = plain(a); }  // without barriers, because the block runs alone
    expect("committed");
    const int restarts = next_restarts();
    restarts_left = restarts;
    const auto call_it = [&] {
        clear_errno();
        got = plain(a);
    };
    action_of act{call_it};
    restarted_block(act);
    expect("restarted");
    cancelled_block(act);
    expect_nothing("cancelled");
    nested_blocks(act);
    expect("nested");

    tutti::atomically([&](tutti::tx& t) { got = library(t, a); });
    expect("committed in the library");
    int left = restarts;
    tutti::atomically([&](tutti::tx& t) {
        clear_errno();
        got = library(t, a);
        if (left-- > 0) tutti::restart(t);
    });
    expect("restarted in the library");
    const auto cancels = [&](tutti::tx& t) {
        library(t, a);
        throw cancelled{};
    };
    try {
        tutti::atomically(cancels);
    } catch (const cancelled&) {}
    expect_nothing("cancelled in the library");
    tutti::atomically([&](tutti::tx& t) {
        try {
            tutti::atomically({.nesting = tutti::nesting::closed}, cancels);
        } catch (const cancelled&) {}
        clear_errno();
        got = library(t, a);
    });
    expect("nested in the library");
}

}  // namespace differential

// Checks a call whose `arguments` use the arena as `a`.
#define CHECK_CALL(before, normal, name, arguments)                                                 \
    differential::check(                                                                            \
        #name #arguments, before, normal, [&](differential::arena& a) { return ::name arguments; }, \
        [&](tutti::tx& t, differential::arena& a) { return tutti::libc::name(t, DIFFERENTIAL_LIST arguments); })
#define DIFFERENTIAL_LIST(...) __VA_ARGS__
