// The clones of the clocks of std::chrono, whose code is compiled into libstdc++. The clones do not read the program's
// memory.
#include <chrono>

#include "libc/context.hpp"

#define TUTTI_CLOCK(clock, clone)                                                               \
    TUTTI_EXPORT std::chrono::clock::time_point tutti_now_of_##clock() noexcept __asm__(clone); \
    std::chrono::clock::time_point tutti_now_of_##clock() noexcept { return std::chrono::clock::now(); }
TUTTI_CLOCK(system_clock, "_ZGTtNSt6chrono3_V212system_clock3nowEv")
TUTTI_CLOCK(steady_clock, "_ZGTtNSt6chrono3_V212steady_clock3nowEv")
