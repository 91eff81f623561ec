// Transactional clones of the functions that libstdc++'s templates call to throw an exception (bits/functexcept.h). An
// exception that is thrown in a block passes through the runtime. If the block restarts before the exception is
// handled, the runtime destroys the exception.
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "libc/context.hpp"

extern "C" {
__attribute__((weak)) void* _ITM_cxa_allocate_exception(std::size_t);
[[noreturn]] __attribute__((weak)) void _ITM_cxa_throw(void* exception, void* type, void (*destroy)(void*));
}

namespace {

/// Throws an E. In a block, `construct(where, arguments...)` constructs the exception instead of E's constructor.
template <class E, class Construct, class... Arguments>
[[noreturn]] void throw_in_block(Construct construct, Arguments... arguments) {
    const tutti::tx* const t = tutti::libc::transaction_of_call({});
    if (t == nullptr || !tutti::libc::in_language(*t)) throw E(arguments...);
    void* const place = _ITM_cxa_allocate_exception(sizeof(E));
    construct(place, arguments...);
    _ITM_cxa_throw(place, const_cast<std::type_info*>(&typeid(E)), [](void* e) { static_cast<E*>(e)->~E(); });
}

}  // namespace

// Defines a clone: TUTTI_THROWS(<exception>, <the clone's name>). For an exception with a text: TUTTI_SAYS(...,
// <libstdc++'s clone of the constructor, whose memory a roll-back frees>).
#define TUTTI_THROWS(name, clone) TUTTI_THROWS_BY(tutti_throws_##name, name, clone)
#define TUTTI_THROWS_BY(function, name, clone)                             \
    extern "C" [[noreturn]] TUTTI_EXPORT void function() __asm__(clone);   \
    void function() {                                                      \
        throw_in_block<std::name>([](void* at) { ::new (at) std::name; }); \
    }
#define TUTTI_SAYS(name, clone, constructor)                                                        \
    extern "C" [[noreturn]] TUTTI_EXPORT void tutti_throws_##name(const char* what) __asm__(clone); \
    extern "C" void tutti_constructs_##name(void*, const char*) __asm__(constructor);               \
    void tutti_throws_##name(const char* what) { throw_in_block<std::name>(tutti_constructs_##name, what); }
TUTTI_THROWS(bad_exception, "_ZGTtSt21__throw_bad_exceptionv")
TUTTI_THROWS(bad_alloc, "_ZGTtSt17__throw_bad_allocv")
TUTTI_THROWS(bad_array_new_length, "_ZGTtSt28__throw_bad_array_new_lengthv")
TUTTI_THROWS(bad_cast, "_ZGTtSt16__throw_bad_castv")
TUTTI_THROWS(bad_typeid, "_ZGTtSt18__throw_bad_typeidv")
// GCC's own code calls these functions to throw: for a new array that is too large, and for typeid of a null pointer.
TUTTI_THROWS_BY(tutti_throws_in_new, bad_array_new_length, "_ZGTt32__cxa_throw_bad_array_new_length")
TUTTI_THROWS_BY(tutti_throws_in_typeid, bad_typeid, "_ZGTt16__cxa_bad_typeid")
TUTTI_SAYS(logic_error, "_ZGTtSt19__throw_logic_errorPKc", "_ZGTtNSt11logic_errorC1EPKc")
TUTTI_SAYS(domain_error, "_ZGTtSt20__throw_domain_errorPKc", "_ZGTtNSt12domain_errorC1EPKc")
TUTTI_SAYS(invalid_argument, "_ZGTtSt24__throw_invalid_argumentPKc", "_ZGTtNSt16invalid_argumentC1EPKc")
TUTTI_SAYS(length_error, "_ZGTtSt20__throw_length_errorPKc", "_ZGTtNSt12length_errorC1EPKc")
TUTTI_SAYS(out_of_range, "_ZGTtSt20__throw_out_of_rangePKc", "_ZGTtNSt12out_of_rangeC1EPKc")
TUTTI_SAYS(runtime_error, "_ZGTtSt21__throw_runtime_errorPKc", "_ZGTtNSt13runtime_errorC1EPKc")
TUTTI_SAYS(range_error, "_ZGTtSt19__throw_range_errorPKc", "_ZGTtNSt11range_errorC1EPKc")
TUTTI_SAYS(overflow_error, "_ZGTtSt22__throw_overflow_errorPKc", "_ZGTtNSt14overflow_errorC1EPKc")
TUTTI_SAYS(underflow_error, "_ZGTtSt23__throw_underflow_errorPKc", "_ZGTtNSt15underflow_errorC1EPKc")
TUTTI_THROWS(bad_function_call, "_ZGTtSt25__throw_bad_function_callv")

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_throws_out_of_range_fmt(const char* format, ...) __asm__(
    "_ZGTtSt24__throw_out_of_range_fmtPKcz");
void tutti_throws_out_of_range_fmt(const char* format, ...) {
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    throw_in_block<std::out_of_range>(tutti_constructs_out_of_range, static_cast<const char*>(what));
}
