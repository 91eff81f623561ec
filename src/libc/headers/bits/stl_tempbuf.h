/* std::stable_sort and inplace_merge allocate a buffer by operator new with std::nothrow. GCC considers this operator
   unsafe, and an overloaded operator cannot be wrapped. If the operator were declared as safe, the program could not
   replace it by unsafe code. So this file replaces std::nothrow in libstdc++'s header by an object of another type.
   The operator new for that type calls the existing operator under another name. */
#ifndef TUTTI_STL_TEMPBUF_H
#define TUTTI_STL_TEMPBUF_H

/* The includes of libstdc++'s header. */
#include <new>

#include <bits/stl_algobase.h>
#include <bits/stl_construct.h>
#include <bits/stl_pair.h>

#include "tutti-wrap.h"

extern "C" {
void* tutti_plain_nothrow_new(std::size_t, const std::nothrow_t&) throw() __asm__("_ZnwmRKSt9nothrow_t");
void* tutti_clone_nothrow_new(std::size_t, const std::nothrow_t&) throw() __asm__("_ZGTtnwmRKSt9nothrow_t")
    __attribute__((transaction_wrap(tutti_plain_nothrow_new), transaction_pure));
}
namespace std {
enum tutti_nothrow_t { tutti_nothrow };
}
inline void* operator new(std::size_t __size, std::tutti_nothrow_t) throw() {
    return tutti_plain_nothrow_new(__size, std::nothrow);
}

#pragma push_macro("nothrow")
#undef nothrow
#define nothrow tutti_nothrow
#include_next <bits/stl_tempbuf.h>
#pragma pop_macro("nothrow")

#else
#include_next <bits/stl_tempbuf.h>
#endif
