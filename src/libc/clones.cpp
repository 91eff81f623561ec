// The transactional clones: what instrumented code calls in the place of a function of the C library. Outside of
// transactions, and in a block that runs without barriers, a clone calls the function itself. So a pointer to a
// function finds its clone, too, this library brings a clone table, like every object that GCC compiles for
// transactions.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cstdarg>

#include "libc/context.hpp"
#include "libc/strings.hpp"
#include "tutti/libc.hpp"

extern "C" {
__attribute__((weak)) void _ITM_registerTMCloneTable(void* entries, std::size_t count) noexcept;
__attribute__((weak)) void _ITM_deregisterTMCloneTable(void* entries) noexcept;
}

// The arguments of a call behind the transaction.
#define TUTTI_BEHIND(...) __VA_OPT__(, ) __VA_ARGS__

#define TUTTI_LIBC(size, result, name, parameters, arguments)                                                     \
    extern "C" TUTTI_EXPORT result tutti_clone_of_##name parameters __asm__("_ZGTt" #size #name);                 \
    result tutti_clone_of_##name parameters {                                                                     \
        if (tutti::tx* const t = tutti::libc::surrounding()) return tutti::libc::name(*t TUTTI_BEHIND arguments); \
        return (result)(::name arguments);                                                                        \
    }
#define TUTTI_NAMED(...) __VA_ARGS__
#define TUTTI_LIBC_VARIADIC(size, result, name, parameters, last, arguments, form)                                   \
    extern "C" TUTTI_EXPORT result tutti_clone_of_##name(TUTTI_NAMED parameters, ...) __asm__("_ZGTt" #size #name);  \
    result tutti_clone_of_##name(TUTTI_NAMED parameters, ...) {                                                      \
        va_list rest;                                                                                                \
        va_start(rest, last);                                                                                        \
        tutti::tx* const t = tutti::libc::surrounding();                                                             \
        const auto value =                                                                                           \
            t != nullptr ? tutti::libc::form(*t TUTTI_BEHIND arguments, rest) : ::form(TUTTI_NAMED arguments, rest); \
        va_end(rest);                                                                                                \
        return value;                                                                                                \
    }                                                                                                                \
    result tutti::libc::name(tx& t, TUTTI_NAMED parameters, ...) {                                                   \
        va_list rest;                                                                                                \
        va_start(rest, last);                                                                                        \
        const auto value = form(t TUTTI_BEHIND arguments, rest);                                                     \
        va_end(rest);                                                                                                \
        return value;                                                                                                \
    }
#include "libc/functions.def"
#undef TUTTI_LIBC
#undef TUTTI_LIBC_VARIADIC

// By other names: some of the functions are overloaded in C++, and an overloaded name has no address.
#define TUTTI_LIBC(size, result, name, parameters, arguments) \
    extern "C" void tutti_address_of_##name() __asm__(#name); \
    extern "C" void tutti_address_of_clone_of_##name() __asm__("_ZGTt" #size #name);
#define TUTTI_LIBC_VARIADIC(size, result, name, parameters, last, arguments, form) \
    TUTTI_LIBC(size, result, name, parameters, arguments)
#include "libc/functions.def"
#undef TUTTI_LIBC
#define TUTTI_LIBC_PURE(name) extern "C" void tutti_address_of_##name() __asm__(#name);
#include "libc/pure.def"
#undef TUTTI_LIBC_PURE

namespace {

struct pair {
    void (*function)();
    void (*clone)();
};

#define TUTTI_LIBC(size, result, name, parameters, arguments) \
    {tutti_address_of_##name, tutti_address_of_clone_of_##name},
// A pure function is its own clone.
#define TUTTI_LIBC_PURE(name) {tutti_address_of_##name, tutti_address_of_##name},
pair table[] = {
#include "libc/functions.def"
#include "libc/pure.def"
};

[[gnu::constructor]] void bring_table() {
    if (_ITM_registerTMCloneTable != nullptr) _ITM_registerTMCloneTable(table, std::size(table));
}
[[gnu::destructor]] void take_table() {
    if (_ITM_deregisterTMCloneTable != nullptr) _ITM_deregisterTMCloneTable(table);
}

}  // namespace
