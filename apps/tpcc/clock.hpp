// The current time in the format of columns.
#pragma once

#include <chrono>

#include "tpcc/schema.hpp"

namespace tpcc {

[[nodiscard]] inline timestamp wall_clock() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace tpcc
