// The programs on the language's blocks, compiled by GCC with -fgnu-tm, with any libitm.so.1. Include this only in
// translation units compiled with that option.
#pragma once

#include <atomic>

#include "stamp/builds/counts.hpp"
#include "stamp/builds/plain.hpp"

namespace stamp {

/// Counts the blocks of one thread and adds them up when the thread ends. A common counter would cause conflicts.
struct language_tally {
    ~language_tally() { all += blocks; }
    std::uint64_t blocks = 0;
    static inline std::atomic<std::uint64_t> all{0};
};

struct language : plain_build {
    template <class Body>
    static auto atomically(const char*, const Body& body) {
        ++own_.blocks;
        context t;
        // clang-format off
        __transaction_atomic { return body(t); }
        // clang-format on
    }
    template <class Body>
    static auto reading(const char* site, const Body& body) {
        return atomically(site, body);
    }

    static void start_counting() { language_tally::all = 0; }
    /// REQUIRES: the worker group has ended. The ABI does not report rolled-back attempts.
    static counts counted() { return {.commits = language_tally::all, .aborts = std::nullopt}; }

private:
    static inline thread_local language_tally own_;
};

}  // namespace stamp
