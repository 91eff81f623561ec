// Implements qsort and bsearch. The program's comparison may leave by a jump, if it restarts its block or throws.
// glibc's qsort would then leak its memory. So this file has its own sort, which works on a private copy and writes
// back the elements that have moved.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

extern "C" __attribute__((weak)) void* _ITM_getTMCloneOrIrrevocable(void*);

namespace tutti::libc {
namespace {

using comparison = int (*)(const void*, const void*);
using comparison_with_argument = int (*)(const void*, const void*, void*);

/// Returns the function to call instead of the program's `f`: in a block of the language, the clone of `f`.
template <class F>
F callable(tx& t, F f) {
    if (!in_language(t)) return f;
    return reinterpret_cast<F>(_ITM_getTMCloneOrIrrevocable(reinterpret_cast<void*>(f)));
}

/// Sorts stably, as glibc's sort does unless memory runs out. `room` has space for half of the elements.
template <class Compare>
void merge_sort(const char** elements, std::size_t count, const char** room, const Compare& compare) {
    if (count < 2) return;
    const std::size_t half = count / 2;
    merge_sort(elements, half, room, compare);
    merge_sort(elements + half, count - half, room, compare);
    std::copy_n(elements, half, room);
    const char** out = elements;
    std::size_t left = 0;
    std::size_t right = half;
    while (left != half && right != count)
        *out++ = compare(room[left], elements[right]) <= 0 ? room[left++] : elements[right++];
    std::copy_n(room + left, half - left, out);
}

/// Sorts a private copy. Returns false if there is no memory for the copy.
template <class Compare>
bool sort(tx& t, void* base, std::size_t count, std::size_t size, const Compare& compare) {
    if (count < 2 || size == 0) return true;
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) return false;
    const private_array<std::max_align_t> copy{t, bytes / sizeof(std::max_align_t) + 1};
    const private_array<const char*> order{t, count};
    const private_array<const char*, 32> room{t, count / 2};
    if (copy.at == nullptr || order.at == nullptr || room.at == nullptr) return false;
    auto* const from = reinterpret_cast<char*>(copy.at);
    copy_in(t, from, base, bytes);
    for (std::size_t i = 0; i != count; ++i) order.at[i] = from + i * size;
    merge_sort(order.at, count, room.at, compare);
    for (std::size_t i = 0; i != count; ++i) {
        if (std::memcmp(order.at[i], from + i * size, size) == 0) continue;
        copy_out(t, static_cast<char*>(base) + i * size, order.at[i], size);
    }
    return true;
}

/// Sorts in place, as glibc does if memory runs out.
void without_memory(tx& t) {
    if (!in_language(t)) throw std::bad_alloc{};
    become_irrevocable(t, "qsort without memory for a copy");
}

template <class Compare>
void* find(const void* base, std::size_t count, std::size_t size, const Compare& compare) {
    const auto* from = static_cast<const char*>(base);
    while (count != 0) {
        const char* const middle = from + count / 2 * size;
        const int o = compare(middle);
        if (o == 0) return const_cast<char*>(middle);
        if (o > 0) {
            from = middle + size;
            --count;  // excludes the middle element
        }
        count /= 2;
    }
    return nullptr;
}

}  // namespace

void qsort(tx& t, void* base, std::size_t count, std::size_t size, comparison compare) {
    const comparison call = callable(t, compare);
    if (sort(t, base, count, size, [call](const void* a, const void* b) { return call(a, b); })) return;
    without_memory(t);
    ::qsort(base, count, size, compare);
}

void qsort_r(tx& t, void* base, std::size_t count, std::size_t size, comparison_with_argument compare, void* argument) {
    const comparison_with_argument call = callable(t, compare);
    if (sort(t, base, count, size, [=](const void* a, const void* b) { return call(a, b, argument); })) return;
    without_memory(t);
    ::qsort_r(base, count, size, compare, argument);
}

void* bsearch(tx& t, const void* key, const void* base, std::size_t count, std::size_t size, comparison compare) {
    const comparison call = callable(t, compare);
    // The clone of the program's comparison reads the elements through barriers of its own, so no private copy is
    // needed.
    if (in_language(t)) return find(base, count, size, [=](const void* e) { return call(key, e); });
    const private_array<std::max_align_t> element{t, size / sizeof(std::max_align_t) + 1};
    if (element.at == nullptr) throw std::bad_alloc{};
    return find(base, count, size, [&](const void* e) {
        copy_in(t, element.at, e, size);
        return call(key, element.at);
    });
}

}  // namespace tutti::libc
