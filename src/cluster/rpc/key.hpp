// The name of an object as text, as engines and feeds use it.
#pragma once

#include <cstdio>

#include "cluster/backend/backend.hpp"
#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

[[nodiscard]] inline backend::key key_of(const object_id& id) {
    char text[40];
    std::snprintf(text, sizeof text, "o%016llx%016llx", static_cast<unsigned long long>(id.high),
                  static_cast<unsigned long long>(id.low));
    return text;
}

}  // namespace tutti::cluster
