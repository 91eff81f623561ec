/* std::function: a call goes through pointers to two static member functions of a class template. These functions
   get a clone only if declared transaction_callable. libstdc++ declares them without a macro, so their names become
   macros while its header is read. The macros distinguish calls from declarations: a declaration's first argument
   begins with a type.

   The constructor of the base class is declared as defaulted, so GCC first fills the object with zeros. GCC 12
   cannot do that in a block (an internal error), so the constructor gets an empty body. Its first mention is the
   declaration. */
#ifndef TUTTI_STD_FUNCTION_H
#define TUTTI_STD_FUNCTION_H

#include <bits/c++config.h>
#if __cplusplus >= 201103L
/* The includes of libstdc++'s header. */
#include <new>
#include <typeinfo>

#include <bits/functexcept.h>
#include <bits/invoke.h>
#include <bits/refwrap.h>
#include <bits/stl_function.h>

#include "tutti-callable.h"

#pragma push_macro("_M_invoke")
#pragma push_macro("_M_manager")
#define _M_invoke(...) TUTTI_CALLABLE_IF_DECLARED(__VA_ARGS__) _M_invoke(__VA_ARGS__)
#define _M_manager(...) TUTTI_CALLABLE_IF_DECLARED(__VA_ARGS__) _M_manager(__VA_ARGS__)
#if _GLIBCXX_RELEASE >= 12
#pragma push_macro("_Function_base")
#define _Function_base()                                                  \
    _Pragma("pop_macro(\"_Function_base\")") _Function_base() noexcept {} \
    _Function_base(const _Function_base&)
#endif
#include_next <bits/std_function.h>
#pragma pop_macro("_M_invoke")
#pragma pop_macro("_M_manager")
#endif

#else
#include_next <bits/std_function.h>
#endif
