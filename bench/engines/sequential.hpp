// The code itself, with nothing around it: what the others are compared with at one thread.
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
