// Annotations for race detectors. The annotations tell a detector how commits order the actions of transactions.
// ThreadSanitizer does not see the library's accesses, because they are not instrumented. helgrind and drd see the
// accesses but do not understand their purpose. So the program's own actions, such as accesses to objects behind
// pointers and destructions, would seem unordered. The annotations are active with -fsanitize=thread, and with
// -DTUTTI_VALGRIND for valgrind's tools.
//
//   any access to a variable  is atomic                     valgrind's tools do not know std::atomic
//   a write of a word         releases the word             the value may lead to objects that this thread has made
//   a read of a word          acquires the word
//   the end of an attempt     releases `attempts_over`      the attempt makes no access after its end
//   destroying for a commit   acquires `attempts_over`      the library waited for attempts that could see the object
//
// The first three lines of this table give the detector a weaker order than a commit establishes. The last two lines
// give it a stronger order: for the detector, the destroying thread runs after all transactions that have ended.
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
