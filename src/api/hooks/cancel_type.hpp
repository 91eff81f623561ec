// The wrapper of the C library's pthread_setcanceltype.
//
// The engine needs to know whether a thread has asked to be cancellable at any instruction. The state in glibc does not
// show this: up to version 2.40, a system call that is a cancellation point sets the asynchronous type while it waits.
// If a thread with deferred cancellation ends in such a call, it looks like an asynchronously cancellable thread.
#pragma once

#include <dlfcn.h>

#include "tutti/detail/annotations.hpp"

/// Defines a pthread_setcanceltype that calls the next function of this name, usually the C library's, and then
/// record(type). If a pending cancellation unwinds the call, record is not called. The next function is looked up at
/// the first call, which may precede the library's own initializers.
#define TUTTI_CANCEL_TYPE(record)                                                                                    \
    extern "C" TUTTI_EXPORT int tutti_pthread_setcanceltype(int type, int* before) __asm__("pthread_setcanceltype"); \
    extern "C" int tutti_pthread_setcanceltype(int type, int* before) {                                              \
        static const auto next = reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_NEXT, "pthread_setcanceltype"));  \
        const int error = next(type, before);                                                                        \
        if (error == 0) record(type);                                                                                \
        return error;                                                                                                \
    }
