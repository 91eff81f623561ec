/// @file
/// Sections of a procedure in which no other call takes over the procedure's worker.
#pragma once

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// While an object of this class lives, a more urgent call does not interrupt the call that made the object. Use an
/// object around actions that calls of the same worker must not interrupt, such as holding a mutex that other
/// procedures also lock, or std::call_once. Objects may nest.
///
/// A transaction inside such a section still releases the worker when it waits, for another transaction or in `retry`.
///
/// An object costs some nanoseconds, and nothing outside of a preemptive server.
class TUTTI_EXPORT no_preemption_guard {
public:
    no_preemption_guard() noexcept;
    ~no_preemption_guard();
    no_preemption_guard(const no_preemption_guard&) = delete;
    no_preemption_guard& operator=(const no_preemption_guard&) = delete;
};

namespace detail {

// Replacements for the C++ ABI's functions around the initialization of a function's static variable. The
// initialization cannot be preempted.
TUTTI_EXPORT int begin_static(void* guard);
TUTTI_EXPORT void end_static(void* guard) noexcept;
TUTTI_EXPORT void abandon_static(void* guard) noexcept;

}  // namespace detail
}  // namespace tutti::server

/// Prevents preemption during the initialization of functions' static variables in one shared object. Use the macro
/// once in the shared object. Otherwise, a call that interrupts such an initialization and reaches the same variable
/// would wait forever. TUTTI_PROCEDURES contains this macro.
///
/// The macro defines names of the C++ ABI again, as hidden symbols, so that only this object's own code uses them. The
/// macro is empty in code for an executable, because in an executable the library would use the new definitions, too.
#if defined(__PIC__) && !defined(__PIE__)
#define TUTTI_NO_PREEMPTION_STATICS                                                                           \
    extern "C" __attribute__((visibility("hidden"))) int tutti_begin_static(void* guard) __asm__(             \
        "__cxa_guard_acquire");                                                                               \
    extern "C" __attribute__((visibility("hidden"))) void tutti_end_static(void* guard) noexcept __asm__(     \
        "__cxa_guard_release");                                                                               \
    extern "C" __attribute__((visibility("hidden"))) void tutti_abandon_static(void* guard) noexcept __asm__( \
        "__cxa_guard_abort");                                                                                 \
    extern "C" int tutti_begin_static(void* guard) { return tutti::server::detail::begin_static(guard); }     \
    extern "C" void tutti_end_static(void* guard) noexcept { tutti::server::detail::end_static(guard); }      \
    extern "C" void tutti_abandon_static(void* guard) noexcept { tutti::server::detail::abandon_static(guard); }
#else
#define TUTTI_NO_PREEMPTION_STATICS
#endif
