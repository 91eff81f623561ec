#include_next <bits/functexcept.h>

/* libstdc++ calls functions of its own to throw an exception. libstdc++ has no transactional clones of these
   functions. Without such clones, an atomic block could not change a vector or a string. */
#if defined(_FUNCTEXCEPT_H) && !defined(TUTTI_FUNCTEXCEPT_H)
#define TUTTI_FUNCTEXCEPT_H
#define TUTTI_THROWS(name, clone)                     \
    __typeof__(name) tutti_clone##name __asm__(clone) \
        __attribute__((transaction_wrap(name), transaction_pure, noreturn));
namespace std {
TUTTI_THROWS(__throw_bad_exception, "_ZGTtSt21__throw_bad_exceptionv")
TUTTI_THROWS(__throw_bad_alloc, "_ZGTtSt17__throw_bad_allocv")
TUTTI_THROWS(__throw_bad_array_new_length, "_ZGTtSt28__throw_bad_array_new_lengthv")
TUTTI_THROWS(__throw_bad_cast, "_ZGTtSt16__throw_bad_castv")
TUTTI_THROWS(__throw_bad_typeid, "_ZGTtSt18__throw_bad_typeidv")
TUTTI_THROWS(__throw_logic_error, "_ZGTtSt19__throw_logic_errorPKc")
TUTTI_THROWS(__throw_domain_error, "_ZGTtSt20__throw_domain_errorPKc")
TUTTI_THROWS(__throw_invalid_argument, "_ZGTtSt24__throw_invalid_argumentPKc")
TUTTI_THROWS(__throw_length_error, "_ZGTtSt20__throw_length_errorPKc")
TUTTI_THROWS(__throw_out_of_range, "_ZGTtSt20__throw_out_of_rangePKc")
TUTTI_THROWS(__throw_runtime_error, "_ZGTtSt21__throw_runtime_errorPKc")
TUTTI_THROWS(__throw_range_error, "_ZGTtSt19__throw_range_errorPKc")
TUTTI_THROWS(__throw_overflow_error, "_ZGTtSt22__throw_overflow_errorPKc")
TUTTI_THROWS(__throw_underflow_error, "_ZGTtSt23__throw_underflow_errorPKc")
TUTTI_THROWS(__throw_bad_function_call, "_ZGTtSt25__throw_bad_function_callv")
TUTTI_THROWS(__throw_out_of_range_fmt, "_ZGTtSt24__throw_out_of_range_fmtPKcz")
}  // namespace std
#undef TUTTI_THROWS
#endif
