/* std::to_string of floating-point numbers and std::to_wstring. libstdc++ formats the number by a template with
   variable arguments, which GCC cannot instrument. libstdc++ passes only one value, so this file adds an overload for
   one value, which is called instead. */
#include_next <ext/string_conversions.h>

#if !defined(TUTTI_STRING_CONVERSIONS_H) && __cplusplus >= 201103L
#define TUTTI_STRING_CONVERSIONS_H

#include <cstdio>
#include <cwchar>

namespace __gnu_cxx {

template <class _Value>
inline int tutti_print(char* __to, std::size_t __size, const char* __format, _Value __value) {
    return std::snprintf(__to, __size, __format, __value);
}
template <class _Value>
inline int tutti_print(wchar_t* __to, std::size_t __size, const wchar_t* __format, _Value __value) {
    return std::swprintf(__to, __size, __format, __value);
}

/* `size` is enough for every value. */
template <class _String, class _CharT = typename _String::value_type, class _Value>
__attribute__((noinline)) _String __to_xstring(int (*)(_CharT*, std::size_t, const _CharT*, __builtin_va_list),
                                               std::size_t __size, const _CharT* __format, _Value __value) {
    const std::size_t __small = 64;
    _CharT __local[__small];
    if (__size <= __small)
        return _String(__local, static_cast<std::size_t>(tutti_print(__local, __size, __format, __value)));
    _String __text(__size, _CharT());
    __text.resize(static_cast<std::size_t>(tutti_print(&__text[0], __size, __format, __value)));
    return __text;
}

}  // namespace __gnu_cxx

#endif
