// What a program tells a race detector of a library that it does not understand: the order in which commits put what
// transactions do. ThreadSanitizer does not see the library's accesses, which are not instrumented; helgrind and drd
// see them and not what they are for. What the program does around them (the objects behind pointers, what it destroys)
// would seem unordered. On with -fsanitize=thread, and for valgrind's tools with -DTUTTI_VALGRIND.
//
//   any access to a variable  is atomic                     valgrind's tools know no std::atomic
//   a write of a word         releases the word             the value may lead to what this thread has made
//   a read of a word          acquires the word
//   the end of an attempt     releases `attempts_over`      no access of the attempt comes after it
//   destroying for a commit   acquires `attempts_over`      the library waited for those that could see the object
//
// That is less than what a commit orders, but for the last two lines, which order the destroying thread behind all
// transactions that are over.
#pragma once

#include "tutti/detail/config.hpp"

#if defined(TUTTI_VALGRIND)
#include <valgrind/helgrind.h>
#elif defined(TUTTI_ANNOTATE)
extern "C" {
void __tsan_acquire(void* at);
void __tsan_release(void* at);
}
#endif

namespace tutti::detail::annotate {

#if defined(TUTTI_ANNOTATE) || defined(TUTTI_VALGRIND)
inline char attempts_over = 0;

#if defined(TUTTI_VALGRIND)
inline void acquire(const volatile void* at) noexcept { ANNOTATE_HAPPENS_AFTER(at); }
inline void release(const volatile void* at) noexcept { ANNOTATE_HAPPENS_BEFORE(at); }
#else
inline void acquire(const volatile void* at) noexcept { __tsan_acquire(const_cast<void*>(at)); }
inline void release(const volatile void* at) noexcept { __tsan_release(const_cast<void*>(at)); }
#endif
inline void cell_at([[maybe_unused]] const volatile void* at, [[maybe_unused]] unsigned bytes) noexcept {
#if defined(TUTTI_VALGRIND)
    VALGRIND_HG_DISABLE_CHECKING(at, bytes);
#endif
}
inline void end_attempt() noexcept { release(&attempts_over); }
inline void destroy() noexcept { acquire(&attempts_over); }
#else
TUTTI_ALWAYS_INLINE void acquire(const volatile void*) noexcept {}
TUTTI_ALWAYS_INLINE void release(const volatile void*) noexcept {}
TUTTI_ALWAYS_INLINE void cell_at(const volatile void*, unsigned) noexcept {}
TUTTI_ALWAYS_INLINE void end_attempt() noexcept {}
TUTTI_ALWAYS_INLINE void destroy() noexcept {}
#endif

}  // namespace tutti::detail::annotate
