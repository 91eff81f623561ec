/* Lists: libstdc++ has compiled the functions that hook their nodes. src/libc/containers.cpp has the clones.
   libstdc++'s header declares only these five functions with the macro for "does not throw". Of the headers that it
   includes, those of allocators use this macro, too. */
#ifndef TUTTI_STL_LIST_H
#define TUTTI_STL_LIST_H
#include <bits/allocator.h>
#pragma push_macro("_GLIBCXX_USE_NOEXCEPT")
#undef _GLIBCXX_USE_NOEXCEPT
#if __cplusplus >= 201103L
#define _GLIBCXX_USE_NOEXCEPT noexcept __attribute__((transaction_safe))
#else
#define _GLIBCXX_USE_NOEXCEPT throw() __attribute__((transaction_safe))
#endif
#include_next <bits/stl_list.h>
#pragma pop_macro("_GLIBCXX_USE_NOEXCEPT")
#else
#include_next <bits/stl_list.h>
#endif
