// The programs on the language's blocks, as GCC compiles them with -fgnu-tm, and on whatever libitm.so.1 is found. Only
// a unit built with that option may include this.
#pragma once

#include <atomic>

#include "stamp/builds/counts.hpp"
#include "stamp/builds/plain.hpp"

namespace stamp {

/// Blocks of one thread, added up when it ends: a common counter would be a conflict of its own.
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
    /// REQUIRES: the crew has ended. The ABI says nothing of attempts that came to nothing.
    static counts counted() { return {.commits = language_tally::all, .aborts = std::nullopt}; }

private:
    static inline thread_local language_tally own_;
};

}  // namespace stamp
