/* dynamic_cast: GCC calls __dynamic_cast of the C++ runtime through a declaration of its own, which attributes
   cannot change. So the keyword becomes a macro for a function template. The template calls that function through a
   declaration with a clone (src/libc/casts.cpp).

   The template keeps the semantics of the operator:

     the operand's class has T as a base   a static cast, also to a private base if the code may access it
     T is void                             the operator itself, which calls no function
     in a constant expression              the operator itself, in a function that GCC does not instrument
     otherwise                             the search at run time; sizeof makes the compiler check the operands

   <typeinfo> includes this file, because the search needs typeid. TUTTI_NO_DYNAMIC_CAST leaves the operator
   unchanged. */
#ifndef TUTTI_DYNAMIC_CAST_H
#define TUTTI_DYNAMIC_CAST_H

#include <bits/functexcept.h>

#include "tutti-wrap.h"

extern "C" {
void* tutti_plain_dynamic_cast(const void*, const std::type_info*, const std::type_info*,
                               __PTRDIFF_TYPE__) __asm__("__dynamic_cast");
TUTTI_CLONE(14, __dynamic_cast, tutti_plain_dynamic_cast, tutti_clone_dynamic_cast)
}

#if __cplusplus >= 202002L
#define TUTTI_CAST_CONSTEXPR constexpr
#else
#define TUTTI_CAST_CONSTEXPR
#endif
#if __cplusplus >= 201103L
#define TUTTI_CAST_NOEXCEPT noexcept
#else
#define TUTTI_CAST_NOEXCEPT throw()
#endif

namespace tutti_cast {

template <int>
struct __way {};
enum { __search, __static, __whole };

template <class _Target>
struct __bare {
    typedef _Target __type;
};
template <class _Target>
struct __bare<const _Target> {
    typedef _Target __type;
};
template <class _Target>
struct __bare<volatile _Target> {
    typedef _Target __type;
};
template <class _Target>
struct __bare<const volatile _Target> {
    typedef _Target __type;
};

/* T with the qualifiers of S. */
template <class _Target, class _Source>
struct __qualified {
    typedef _Target __type;
};
template <class _Target, class _Source>
struct __qualified<_Target, const _Source> {
    typedef const _Target __type;
};
template <class _Target, class _Source>
struct __qualified<_Target, volatile _Source> {
    typedef volatile _Target __type;
};
template <class _Target, class _Source>
struct __qualified<_Target, const volatile _Source> {
    typedef const volatile _Target __type;
};

template <class _Target, class _Source>
struct __chosen {
    enum { __value = __is_base_of(_Target, _Source) ? int(__static) : int(__search) };
};
template <class _Source>
struct __chosen<void, _Source> {
    enum { __value = __whole };
};

#if __cplusplus >= 202002L
template <class _Target, class _Source>
__attribute__((transaction_pure)) constexpr _Target* __in_constant(_Source* __from) noexcept {
    return dynamic_cast<_Target*>(__from);
}
#endif

template <class _Target, class _Source>
inline TUTTI_CAST_CONSTEXPR _Target* __cast(_Source* __from, __way<__search>) TUTTI_CAST_NOEXCEPT {
    static_cast<void>(sizeof(dynamic_cast<_Target*>(__from)));
#if __cplusplus >= 202002L
    if (__builtin_is_constant_evaluated()) return __in_constant<_Target>(__from);
#endif
    if (__from == 0) return 0;
    /* -1: the relation of the two classes is unknown. */
    return static_cast<_Target*>(tutti_plain_dynamic_cast(
        const_cast<const void*>(static_cast<const volatile void*>(__from)), &typeid(_Source), &typeid(_Target), -1));
}
template <class _Target, class _Source>
inline TUTTI_CAST_CONSTEXPR _Target* __cast(_Source* __from, __way<__static>) TUTTI_CAST_NOEXCEPT {
    _Target* const __base = (typename __qualified<typename __bare<_Target>::__type, _Source>::__type*)__from;
    return __base;
}
template <class _Target, class _Source>
inline TUTTI_CAST_CONSTEXPR _Target* __cast(_Source* __from, __way<__whole>) TUTTI_CAST_NOEXCEPT {
    return dynamic_cast<_Target*>(__from);
}
template <class _Target, class _Source>
inline TUTTI_CAST_CONSTEXPR _Target* __pointer(_Source* __from) TUTTI_CAST_NOEXCEPT {
    return tutti_cast::__cast<_Target>(
        __from, __way<__chosen<typename __bare<_Target>::__type, typename __bare<_Source>::__type>::__value>());
}
template <class _Target, class _Source>
inline TUTTI_CAST_CONSTEXPR _Target& __reference(_Source& __from) {
    _Target* const __found = tutti_cast::__pointer<_Target>(__builtin_addressof(__from));
    if (__found == 0) std::__throw_bad_cast();
    return *__found;
}

template <class _Target>
struct __to;
template <class _Target>
struct __to<_Target*> {
    enum { __throws = 0 };
    template <class _Source>
    static TUTTI_CAST_CONSTEXPR _Target* __of(_Source* __from) TUTTI_CAST_NOEXCEPT {
        return tutti_cast::__pointer<_Target>(__from);
    }
};
template <class _Target>
struct __to<_Target&> {
    enum { __throws = 1 };
    template <class _Source>
    static TUTTI_CAST_CONSTEXPR _Target& __of(_Source& __from) {
        return tutti_cast::__reference<_Target>(__from);
    }
};
#if __cplusplus >= 201103L
template <class _Target>
struct __to<_Target&&> {
    enum { __throws = 1 };
    template <class _Source>
    static TUTTI_CAST_CONSTEXPR _Target&& __of(_Source& __from) {
        return static_cast<_Target&&>(tutti_cast::__reference<_Target>(__from));
    }
};
#endif
/* The target type itself may be qualified: T* const. */
template <class _Target>
struct __to<const _Target> : __to<_Target> {};

}  // namespace tutti_cast

#if __cplusplus >= 201103L
template <class _Target, class _Operand>
inline TUTTI_CAST_CONSTEXPR _Target
tutti_dynamic_cast(_Operand&& __from) noexcept(tutti_cast::__to<_Target>::__throws == 0) {
    return tutti_cast::__to<_Target>::__of(__from);
}
#else
template <class _Target, class _Operand>
inline _Target tutti_dynamic_cast(const _Operand& __from) {
    return tutti_cast::__to<_Target>::__of(const_cast<_Operand&>(__from));
}
template <class _Target, class _Operand>
inline _Target tutti_dynamic_cast(_Operand& __from) {
    return tutti_cast::__to<_Target>::__of(__from);
}
#endif

#undef TUTTI_CAST_CONSTEXPR
#undef TUTTI_CAST_NOEXCEPT

#define dynamic_cast ::tutti_dynamic_cast

#endif
