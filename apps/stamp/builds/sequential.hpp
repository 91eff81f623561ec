// The programs without transactions, on one thread: what the other builds are compared with.
#pragma once

#include "stamp/builds/counts.hpp"
#include "stamp/builds/plain.hpp"

namespace stamp {

struct sequential : plain_build {
    template <class Body>
    static auto atomically(const char*, const Body& body) {
        ++blocks_;
        context t;
        return body(t);
    }
    template <class Body>
    static auto reading(const char* site, const Body& body) {
        return atomically(site, body);
    }
    static void start_counting() { blocks_ = 0; }
    static counts counted() { return {.commits = blocks_, .aborts = 0}; }

private:
    // Only ever touched by the one thread, or while it has not begun or has ended.
    static inline std::uint64_t blocks_ = 0;
};

}  // namespace stamp
