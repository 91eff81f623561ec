/// @file
/// Stretches of a procedure in which no other call takes its worker.
#pragma once

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// While one lives, what is more urgent does not interrupt the call that made it. For what one worker's calls must not
/// meet half done: a mutex that other procedures take, too, or std::call_once. They nest.
///
/// A transaction inside that waits (for another one, or in `retry`) gives the worker away nevertheless.
///
/// Costs some nanoseconds; nothing outside of a preemptive server.
class TUTTI_EXPORT undisturbed {
public:
    undisturbed() noexcept;
    ~undisturbed();
    undisturbed(const undisturbed&) = delete;
    undisturbed& operator=(const undisturbed&) = delete;
};

namespace detail {

// The functions of the C++ ABI around the initialization of a function's static variable, undisturbed.
TUTTI_EXPORT int begin_static(void* guard);
TUTTI_EXPORT void end_static(void* guard) noexcept;
TUTTI_EXPORT void give_up_static(void* guard) noexcept;

}  // namespace detail
}  // namespace tutti::server

/// Makes the initialization of functions' static variables undisturbed in the shared object that it is written in,
/// once: a call that interrupted it and came to the same variable would wait for ever. TUTTI_PROCEDURES contains it.
///
/// The names of the C++ ABI are defined anew, hidden, so that only this object's own code finds them. Nothing in code
/// that is made for a program: there they would be the library's as well.
#if defined(__PIC__) && !defined(__PIE__)
#define TUTTI_UNDISTURBED_STATICS                                                                             \
    extern "C" __attribute__((visibility("hidden"))) int tutti_begin_static(void* guard) __asm__(             \
        "__cxa_guard_acquire");                                                                               \
    extern "C" __attribute__((visibility("hidden"))) void tutti_end_static(void* guard) noexcept __asm__(     \
        "__cxa_guard_release");                                                                               \
    extern "C" __attribute__((visibility("hidden"))) void tutti_give_up_static(void* guard) noexcept __asm__( \
        "__cxa_guard_abort");                                                                                 \
    extern "C" int tutti_begin_static(void* guard) { return tutti::server::detail::begin_static(guard); }     \
    extern "C" void tutti_end_static(void* guard) noexcept { tutti::server::detail::end_static(guard); }      \
    extern "C" void tutti_give_up_static(void* guard) noexcept { tutti::server::detail::give_up_static(guard); }
#else
#define TUTTI_UNDISTURBED_STATICS
#endif
