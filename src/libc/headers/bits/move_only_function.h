/* std::move_only_function: a call goes through pointers to static member functions, which get a clone only if they
   are declared transaction_callable. In a declaration, parameters follow their names. */
#ifndef TUTTI_MOVE_ONLY_FUNCTION_H
#define TUTTI_MOVE_ONLY_FUNCTION_H

/* The includes of libstdc++'s header. */
#include <bits/c++config.h>
#if __cplusplus > 202002L
#include <bits/invoke.h>
#include <bits/utility.h>

#include "tutti-callable.h"

#pragma push_macro("_S_empty")
#pragma push_macro("_S_manage")
#pragma push_macro("_S_invoke")
#define _S_empty(...) TUTTI_CALLABLE _S_empty(__VA_ARGS__)
#define _S_manage(...) TUTTI_CALLABLE _S_manage(__VA_ARGS__)
#define _S_invoke(...) TUTTI_CALLABLE _S_invoke(__VA_ARGS__)
#include_next <bits/move_only_function.h>
#pragma pop_macro("_S_empty")
#pragma pop_macro("_S_manage")
#pragma pop_macro("_S_invoke")
#endif

#else
#include_next <bits/move_only_function.h>
#endif
