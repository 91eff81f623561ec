/* Tells GCC that a function of the C library has a transactional clone: by a declaration of the clone that names the
   function (GCC's attribute transaction_wrap). The headers in this folder include the C library's own headers. Then
   they declare the clones of functions in src/libc/functions.def and pure.def, under the same conditions as the
   original header. To compile with them, put this folder before the system's folders, as tutti-cc and tutti-c++ do.

     TUTTI_WRAPPED(size, name)           the function, whose name has `size` characters
     TUTTI_BUILTIN(size, name)           the function, and GCC's builtin of that name, which GCC itself calls
     TUTTI_CLONE_OF_BUILTIN(size, name)  only the builtin
     TUTTI_PURE(name)                    a function that does not access the program's memory: called directly
     TUTTI_PURE_BUILTIN(name)            GCC's builtin of that name: called directly
     TUTTI_OVERLOADED(size, name, type, parameters, arguments)
                                         in C++, a function that the C library has once for `type*` and once for
                                         `const type*`: GCC refuses to wrap an overloaded name. So both become inline
                                         functions, as the C library does for some of them when it optimises. They call
                                         the one function by a name of ours. `parameters` and `arguments` are those
                                         after the first.
     TUTTI_OVERLOADED_BUILTIN(...)       such a function that the C library itself makes inline when it optimises; it
                                         then calls the builtin, which has to be in tutti-builtins.h

   No clone may be declared twice: GCC then calls a declaration that it has discarded. */
#ifndef TUTTI_WRAP_H
#define TUTTI_WRAP_H

#define TUTTI_CLONE(size, name, of, clone) \
    __typeof__(of) clone __asm__("_ZGTt" #size #name) __attribute__((transaction_wrap(of), transaction_pure));
#define TUTTI_WRAPPED(size, name) TUTTI_CLONE(size, name, name, tutti_clone_##name)
#define TUTTI_CLONE_OF_BUILTIN(size, name) TUTTI_CLONE(size, name, __builtin_##name, tutti_clone_builtin_##name)
#define TUTTI_BUILTIN(size, name) TUTTI_WRAPPED(size, name) TUTTI_CLONE_OF_BUILTIN(size, name)

#define TUTTI_PURE(name) extern __typeof__(name) name __attribute__((transaction_pure));
#define TUTTI_PURE_BUILTIN(name) extern __typeof__(__builtin_##name) __builtin_##name __attribute__((transaction_pure));

#ifdef __cplusplus
#define TUTTI_WRAP_BEGIN extern "C" {
#define TUTTI_WRAP_END }
#define TUTTI_INLINE extern "C++" inline __attribute__((always_inline, gnu_inline))
#define TUTTI_OVERLOADED(size, name, type, parameters, arguments)                     \
    type* tutti_plain_##name(const type* in, TUTTI_LISTED parameters) __asm__(#name); \
    TUTTI_CLONE(size, name, tutti_plain_##name, tutti_clone_##name)                   \
    TUTTI_INLINE type* name(type* in, TUTTI_LISTED parameters) __THROW {              \
        return tutti_plain_##name(in, TUTTI_LISTED arguments);                        \
    }                                                                                 \
    TUTTI_INLINE const type* name(const type* in, TUTTI_LISTED parameters) __THROW {  \
        return tutti_plain_##name(in, TUTTI_LISTED arguments);                        \
    }
#define TUTTI_LISTED(...) __VA_ARGS__
#ifdef __OPTIMIZE__
#define TUTTI_OVERLOADED_BUILTIN(size, name, type, parameters, arguments)
#else
#define TUTTI_OVERLOADED_BUILTIN TUTTI_OVERLOADED
#endif
#else
#define TUTTI_WRAP_BEGIN
#define TUTTI_WRAP_END
#endif

#endif
