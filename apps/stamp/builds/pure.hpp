// For a function that reads nothing but its arguments and what never changes: blocks of the language call it as it is.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define TUTTI_STAMP_PURE __attribute__((transaction_pure))
#else
#define TUTTI_STAMP_PURE
#endif
