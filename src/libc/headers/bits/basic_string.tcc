/* Strings: before C++20 libstdc++ declares that it has compiled their members, and GCC would make no clones of them. As
   from C++20 on each program has its own here; a negative number says so. The old ABI has to have its only empty string
   in libstdc++. */
#include <bits/c++config.h>
#pragma push_macro("_GLIBCXX_EXTERN_TEMPLATE")
#if _GLIBCXX_USE_CXX11_ABI
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#include_next <bits/basic_string.tcc>
#pragma pop_macro("_GLIBCXX_EXTERN_TEMPLATE")
