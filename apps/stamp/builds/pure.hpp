// Marks a function that reads only its arguments and constant data, so that blocks of the language call it directly.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define TUTTI_STAMP_PURE __attribute__((transaction_pure))
#else
#define TUTTI_STAMP_PURE
#endif
