// Checks for test programs in C. A failed check prints its place and the values, and sets the program's exit status.
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures = 0;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            ++check_failures;                                                       \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                           \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                                  \
    do {                                                                                                            \
        const long long actual_ = (long long)(actual), expected_ = (long long)(expected);                           \
        if (actual_ != expected_) {                                                                                 \
            ++check_failures;                                                                                       \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual, actual_, expected_); \
        }                                                                                                           \
    } while (0)

#define CHECK_TEXT(actual, part)                                                                             \
    do {                                                                                                     \
        const char* const actual_ = (actual);                                                                \
        if (strstr(actual_, (part)) == NULL) {                                                               \
            ++check_failures;                                                                                \
            fprintf(stderr, "%s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, actual_, (part)); \
        }                                                                                                    \
    } while (0)

#define RUN(test)                       \
    do {                                \
        fprintf(stderr, "%s\n", #test); \
        test();                         \
    } while (0)

/// A repeatable source of random numbers: splitmix64.
static inline uint64_t check_random(uint64_t* state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static inline int check_status(void) {
    if (check_failures != 0) fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures != 0;
}
