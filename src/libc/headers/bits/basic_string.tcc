/* Strings: before C++20 libstdc++ declares that it has compiled their members, so GCC would make no clones of them.
   Here each program instantiates the members itself, as from C++20 on; a negative number selects this. Programs with
   the old ABI must use the members in libstdc++, because the one empty string is there. */
#include <bits/c++config.h>
#pragma push_macro("_GLIBCXX_EXTERN_TEMPLATE")
#if _GLIBCXX_USE_CXX11_ABI
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#include_next <bits/basic_string.tcc>
#pragma pop_macro("_GLIBCXX_EXTERN_TEMPLATE")
