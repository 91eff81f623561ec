/* How GCC learns that a function of the C library has a transactional clone: a declaration of the clone that names the
   function which it stands for (GCC's attribute transaction_wrap). The headers beside this one include the C library's
   own and then declare what of it is in src/libc/functions.def, under the conditions under which that header declares
   it. To compile with them, put this folder before the system's: tutti-cc and tutti-c++ do.

   TUTTI_WRAPPED(size, name)   the function, whose name has `size` characters
   TUTTI_BUILTIN(size, name)   the same and GCC's builtin of that name, which it calls by itself */
#ifndef TUTTI_WRAP_H
#define TUTTI_WRAP_H

#define TUTTI_CLONE(size, name, of, clone) \
    __typeof__(of) clone __asm__("_ZGTt" #size #name) __attribute__((transaction_wrap(of), transaction_pure));
#define TUTTI_WRAPPED(size, name) TUTTI_CLONE(size, name, name, tutti_clone_##name)
#define TUTTI_BUILTIN(size, name) \
    TUTTI_WRAPPED(size, name)     \
    TUTTI_CLONE(size, name, __builtin_##name, tutti_clone_builtin_##name)

#ifdef __cplusplus
#define TUTTI_WRAP_BEGIN extern "C" {
#define TUTTI_WRAP_END }
#else
#define TUTTI_WRAP_BEGIN
#define TUTTI_WRAP_END
#endif

#endif
