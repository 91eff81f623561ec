/* The clocks of <chrono>. Their static member functions now() are compiled into libstdc++; the clones are in
   src/libc/clocks.cpp. The macros below add an attribute to each class, which passes it to its members. This works
   because the first mention of each class in libstdc++'s header is its definition. */
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
