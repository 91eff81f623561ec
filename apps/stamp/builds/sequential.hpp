// The programs without transactions, on one thread: the baseline of the other builds.
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
    // Accessed only by the one thread, or before it begins or after it has ended.
    static inline std::uint64_t blocks_ = 0;
};

}  // namespace stamp
