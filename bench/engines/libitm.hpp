// Blocks that GCC compiles with -fgnu-tm, run by the system's libitm. Include this only in translation units compiled
// with that option.
#pragma once

#include "engines/plain.hpp"

namespace bench {

struct libitm : plain_engine {
    static constexpr const char* name = "libitm";

    template <class Body>
    static auto read(Body body) {
        context c;
        // clang-format off
        __transaction_atomic { return body(c); }
        // clang-format on
    }
    template <class Body>
    static auto update(Body body) {
        return read(body);
    }
};

}  // namespace bench
