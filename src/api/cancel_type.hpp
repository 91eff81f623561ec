// What stands in front of the C library's pthread_setcanceltype.
//
// The engine needs to know whether a thread has asked to be cancellable at any instruction. glibc cannot tell: up to
// version 2.40 a system call that is a cancellation point stores the asynchronous type for as long as it waits. A
// thread with deferred cancellation that ends there looks like an asynchronous one afterwards.
#pragma once

#include <dlfcn.h>

#include "tutti/detail/annotations.hpp"

/// Defines pthread_setcanceltype, which calls the next function of that name, and then note(type). A pending
/// cancellation may unwind the caller from the next function: that point is the caller's choice, so nothing is noted.
/// The next function is looked up at the first call, which may come before the library's own initialisers.
#define TUTTI_CANCEL_TYPE(note)                                                                                      \
    extern "C" TUTTI_EXPORT int tutti_pthread_setcanceltype(int type, int* before) __asm__("pthread_setcanceltype"); \
    extern "C" int tutti_pthread_setcanceltype(int type, int* before) {                                              \
        static const auto next = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_NEXT, "pthread_setcanceltype"));  \
        const int error = next(type, before);                                                                        \
        if (error == 0) note(type);                                                                                  \
        return error;                                                                                                \
    }
