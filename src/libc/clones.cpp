// The transactional clones, which instrumented code calls instead of the functions of the C library. Outside of
// transactions, and in a block that runs without barriers, a clone calls the original function. This library also
// registers a clone table, as every object does that GCC compiles for transactions. A call through a pointer finds the
// function's clone by that table.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>

#include <clocale>
#include <cstdarg>
#include <cstdlib>
#include <ctime>
#include <type_traits>
#include <utility>

#include "libc/context.hpp"
#include "libc/strings.hpp"
#include "tutti/libc/functions.hpp"

extern "C" {
__attribute__((weak)) void _ITM_registerTMCloneTable(void* entries, std::size_t count) noexcept;
__attribute__((weak)) void _ITM_deregisterTMCloneTable(void* entries) noexcept;
}

namespace {

/// Ends a list of arguments. A restart may leave the frame without running this destructor. This is harmless, because
/// va_end does nothing on x86-64.
class end_of {
public:
    explicit end_of(va_list list) noexcept : list_{list} {}
    ~end_of() { va_end(list_); }
    end_of(const end_of&) = delete;
    end_of& operator=(const end_of&) = delete;

private:
    std::remove_reference_t<decltype(*std::declval<va_list&>())>* list_;
};

}  // namespace

// The arguments of a call that follow the transaction argument.
#define TUTTI_BEHIND(...) __VA_OPT__(, ) __VA_ARGS__

#define TUTTI_LIBC(size, result, name, parameters, arguments)                                            \
    extern "C" TUTTI_EXPORT result tutti_clone_of_##name parameters __asm__("_ZGTt" #size #name);        \
    result tutti_clone_of_##name parameters {                                                            \
        if (tutti::tx* const t = tutti::libc::transaction_of_call({#name, __builtin_return_address(0)})) \
            return tutti::libc::name(*t TUTTI_BEHIND arguments);                                         \
        return (result)(::name arguments);                                                               \
    }
#define TUTTI_NAMED(...) __VA_ARGS__
#define TUTTI_LIBC_VARIADIC(size, result, name, parameters, last, arguments, form)                                  \
    extern "C" TUTTI_EXPORT result tutti_clone_of_##name(TUTTI_NAMED parameters, ...) __asm__("_ZGTt" #size #name); \
    result tutti_clone_of_##name(TUTTI_NAMED parameters, ...) {                                                     \
        va_list rest;                                                                                               \
        va_start(rest, last);                                                                                       \
        tutti::tx* const t = tutti::libc::transaction_of_call({#name, __builtin_return_address(0)});                \
        const end_of arguments_end{rest};                                                                           \
        return t != nullptr ? tutti::libc::form(*t TUTTI_BEHIND arguments, rest)                                    \
                            : ::form(TUTTI_NAMED arguments, rest);                                                  \
    }                                                                                                               \
    result tutti::libc::name(tx& t, TUTTI_NAMED parameters, ...) {                                                  \
        va_list rest;                                                                                               \
        va_start(rest, last);                                                                                       \
        const end_of arguments_end{rest};                                                                           \
        return form(t TUTTI_BEHIND arguments, rest);                                                                \
    }
#define TUTTI_LIBC_ALIAS(size, other, of_size, of)                                                             \
    extern "C" TUTTI_EXPORT decltype(tutti_clone_of_##of) tutti_clone_of_##other __asm__("_ZGTt" #size #other) \
        __attribute__((alias("_ZGTt" #of_size #of)));
#include "libc/functions.def"
#undef TUTTI_LIBC
#undef TUTTI_LIBC_VARIADIC
#undef TUTTI_LIBC_ALIAS

// The functions are declared under other names, because some of them are overloaded in C++, and an overloaded name has
// no address.
#define TUTTI_LIBC(size, result, name, parameters, arguments) \
    extern "C" void tutti_address_of_##name() __asm__(#name); \
    extern "C" void tutti_address_of_clone_of_##name() __asm__("_ZGTt" #size #name);
#define TUTTI_LIBC_VARIADIC(size, result, name, parameters, last, arguments, form) \
    TUTTI_LIBC(size, result, name, parameters, arguments)
#define TUTTI_LIBC_ALIAS(size, other, of_size, of) TUTTI_LIBC(size, , other, , )
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
// A pure function serves as its own clone.
#define TUTTI_LIBC_PURE(name) {tutti_address_of_##name, tutti_address_of_##name},
pair table[] = {
#include "libc/functions.def"
#include "libc/pure.def"
};

[[gnu::constructor]] void register_table() {
    if (_ITM_registerTMCloneTable != nullptr) _ITM_registerTMCloneTable(table, std::size(table));
}
[[gnu::destructor]] void deregister_table() {
    if (_ITM_deregisterTMCloneTable != nullptr) _ITM_deregisterTMCloneTable(table);
}

}  // namespace
