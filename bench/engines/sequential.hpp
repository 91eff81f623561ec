// The bare code, the baseline of the other engines at one thread.
#pragma once

#include "engines/plain.hpp"

namespace bench {

struct sequential : plain_engine {
    static constexpr const char* name = "sequential";
    static constexpr bool concurrent = false;

    template <class Body>
    static auto read(Body body) {
        context c;
        return body(c);
    }
    template <class Body>
    static auto update(Body body) {
        return read(body);
    }
};

}  // namespace bench
