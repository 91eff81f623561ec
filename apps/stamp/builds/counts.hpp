// What a build counts.
#pragma once

#include <cstdint>

namespace stamp {

struct counts {
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;  ///< attempts that came to nothing
};

}  // namespace stamp
