/* Lists. The functions that link their nodes are compiled into libstdc++; the clones are in src/libc/containers.cpp.
   libstdc++'s header uses the macro for "does not throw" only in the declarations of these five functions, so the
   macro can add an attribute. The headers of allocators also use the macro, so this file includes them first. */
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
