/* The clocks of <chrono>: libstdc++ has compiled their static member functions now(). src/libc/clocks.cpp has the
   clones. A class passes an attribute to its members. The first mention of each class in libstdc++'s header is its
   definition. */
#ifndef TUTTI_CHRONO_H
#define TUTTI_CHRONO_H

#include <bits/c++config.h>
#if __cplusplus >= 201103L
#pragma push_macro("system_clock")
#pragma push_macro("steady_clock")
#define system_clock _Pragma("pop_macro(\"system_clock\")") __attribute__((transaction_safe)) system_clock
#define steady_clock _Pragma("pop_macro(\"steady_clock\")") __attribute__((transaction_safe)) steady_clock
#endif

#endif
#include_next <bits/chrono.h>
