#include_next <locale.h>

#include "tutti-wrap.h"

#ifndef TUTTI_LOCALE_H
#define TUTTI_LOCALE_H
TUTTI_WRAP_BEGIN
TUTTI_WRAPPED(9, setlocale)
TUTTI_WRAPPED(10, localeconv)
TUTTI_WRAP_END
#endif
