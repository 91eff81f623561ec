// Transactional clones of the functions by which libstdc++'s templates throw (bits/functexcept.h). An exception that is
// thrown in a block goes through the runtime, which destroys it where the block starts over meanwhile.
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

template <class E, class... Arguments>
[[noreturn]] void throw_in_block(Arguments... arguments) {
    const tutti::tx* const t = tutti::libc::surrounding({});
    if (t == nullptr || !tutti::libc::in_language(*t)) throw E(arguments...);
    auto* const place = static_cast<E*>(_ITM_cxa_allocate_exception(sizeof(E)));
    ::new (place) E(arguments...);
    _ITM_cxa_throw(place, const_cast<std::type_info*>(&typeid(E)), [](void* e) { static_cast<E*>(e)->~E(); });
}

}  // namespace

#define TUTTI_THROWS(name, clone, parameters, arguments)                                     \
    extern "C" [[noreturn]] TUTTI_EXPORT void tutti_throws_##name parameters __asm__(clone); \
    void tutti_throws_##name parameters { throw_in_block<std::name> arguments; }
TUTTI_THROWS(bad_exception, "_ZGTtSt21__throw_bad_exceptionv", (), ())
TUTTI_THROWS(bad_alloc, "_ZGTtSt17__throw_bad_allocv", (), ())
TUTTI_THROWS(bad_array_new_length, "_ZGTtSt28__throw_bad_array_new_lengthv", (), ())
TUTTI_THROWS(bad_cast, "_ZGTtSt16__throw_bad_castv", (), ())
TUTTI_THROWS(bad_typeid, "_ZGTtSt18__throw_bad_typeidv", (), ())
TUTTI_THROWS(logic_error, "_ZGTtSt19__throw_logic_errorPKc", (const char* what), (what))
TUTTI_THROWS(domain_error, "_ZGTtSt20__throw_domain_errorPKc", (const char* what), (what))
TUTTI_THROWS(invalid_argument, "_ZGTtSt24__throw_invalid_argumentPKc", (const char* what), (what))
TUTTI_THROWS(length_error, "_ZGTtSt20__throw_length_errorPKc", (const char* what), (what))
TUTTI_THROWS(out_of_range, "_ZGTtSt20__throw_out_of_rangePKc", (const char* what), (what))
TUTTI_THROWS(runtime_error, "_ZGTtSt21__throw_runtime_errorPKc", (const char* what), (what))
TUTTI_THROWS(range_error, "_ZGTtSt19__throw_range_errorPKc", (const char* what), (what))
TUTTI_THROWS(overflow_error, "_ZGTtSt22__throw_overflow_errorPKc", (const char* what), (what))
TUTTI_THROWS(underflow_error, "_ZGTtSt23__throw_underflow_errorPKc", (const char* what), (what))
TUTTI_THROWS(bad_function_call, "_ZGTtSt25__throw_bad_function_callv", (), ())

extern "C" [[noreturn]] TUTTI_EXPORT void tutti_throws_out_of_range_fmt(const char* format, ...) __asm__(
    "_ZGTtSt24__throw_out_of_range_fmtPKcz");
void tutti_throws_out_of_range_fmt(const char* format, ...) {
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    throw_in_block<std::out_of_range>(static_cast<const char*>(what));
}
