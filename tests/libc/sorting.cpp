// qsort and bsearch in transactions, compared with glibc: comparison functions with a clone, without one, that throw,
// and that restart the block in the middle. Catches a sort that is not stable, and one that writes elements that have
// not moved.
#include <rapidcheck.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "differential.hpp"

namespace {

using namespace differential;

struct element {
    int key;
    int number;
};

[[gnu::transaction_safe]] int by_key(const void* a, const void* b) {
    const int x = static_cast<const element*>(a)->key;
    const int y = static_cast<const element*>(b)->key;
    return (x > y) - (x < y);
}
[[gnu::transaction_safe]] int by_key_and_count(const void* a, const void* b, void* calls) {
    *static_cast<int*>(calls) = 1;
    return by_key(a, b);
}
int with_the_argument_at(const void* a, const void* b, void* t) {
    const auto& place = *static_cast<std::pair<tutti::tx*, int*>*>(t);
    tutti::store(*place.first, place.second, 1);
    return by_key(a, b);
}

int restarts_in_the_middle = 0;
[[gnu::transaction_pure, gnu::noinline]] void maybe_restart() {
    if (restarts_in_the_middle > 0 && --restarts_in_the_middle % 5 == 0) _ITM_abortTransaction(4);
}
[[gnu::transaction_safe]] int by_key_with_restarts(const void* a, const void* b) {
    maybe_restart();
    return by_key(a, b);
}

element* elements(arena& a) { return reinterpret_cast<element*>(a.bytes); }

void restarted_by_its_comparison(arena& a, std::size_t count) {
    __transaction_atomic {
        ::qsort(a.bytes, count, sizeof(element), by_key_with_restarts);
        if (never) __transaction_cancel;
    }
}

/// A restart during a comparison neither leaks the sort's memory nor sorts twice.
void restarts(const arena& w, std::size_t count) {
    arena expected = w;
    ::qsort(expected.bytes, count, sizeof(element), by_key);
    arena a = w;
    restarts_in_the_middle = 20;
    restarted_by_its_comparison(a, count);
    restarts_in_the_middle = 0;
    RC_ASSERT(a == expected);
}

int throwing(const void*, const void*) { throw std::runtime_error("compared"); }

void throws(const arena& w, std::size_t count) {
    arena a = w;
    bool thrown = false;
    try {
        tutti::atomically([&](tutti::tx& t) { tutti::libc::qsort(t, a.bytes, count, sizeof(element), throwing); });
    } catch (const std::runtime_error&) {
        thrown = true;
    }
    RC_ASSERT(thrown == (count > 1));
    RC_ASSERT(a == w);
}

}  // namespace

int main() {
    const bool holds = rc::check([] {
        const auto count = *rc::gen::inRange<std::size_t>(0, 100);
        arena w{};
        for (std::size_t i = 0; i != count; ++i) elements(w)[i] = {*rc::gen::inRange(0, 20), static_cast<int>(i)};
        const auto zero = [](const arena&, int) { return 0; };
        check(
            "qsort", w, zero, [&](arena& a) { return ::qsort(a.bytes, count, sizeof(element), by_key), 0; },
            [&](tutti::tx& t, arena& a) { return tutti::libc::qsort(t, a.bytes, count, sizeof(element), by_key), 0; });
        check(
            "qsort_r", w, zero,
            [&](arena& a) { return ::qsort_r(a.bytes, count, sizeof(element), by_key_and_count, &a.bytes[1000]), 0; },
            [&](tutti::tx& t, arena& a) {
                std::pair<tutti::tx*, int*> place{&t, reinterpret_cast<int*>(&a.bytes[1000])};
                return tutti::libc::qsort_r(t, a.bytes, count, sizeof(element), with_the_argument_at, &place), 0;
            });
        restarts(w, count);
        throws(w, count);
        arena sorted = w;
        ::qsort(sorted.bytes, count, sizeof(element), by_key);
        const element key{*rc::gen::inRange(-1, 21), 0};
        CHECK_CALL(sorted, as_is{}, bsearch, (&key, a.bytes, count, sizeof(element), by_key));
    });
    return holds ? 0 : 1;
}
