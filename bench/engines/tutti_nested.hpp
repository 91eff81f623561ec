// The product with each body in a nested block.
#pragma once

#include "engines/tutti.hpp"

namespace bench {

template <::tutti::nesting Nesting>
struct tutti_nested : tutti_default {
    template <class Body>
    static auto update(Body body) {
        return ::tutti::atomically([&](context&) { return ::tutti::atomically({.nesting = Nesting}, body); });
    }
};

struct tutti_nested_flat : tutti_nested<::tutti::nesting::flat> {
    static constexpr const char* name = "tutti-nested-flat";
};
struct tutti_nested_closed : tutti_nested<::tutti::nesting::closed> {
    static constexpr const char* name = "tutti-nested-closed";
};

}  // namespace bench
