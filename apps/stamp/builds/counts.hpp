// The counts of a build.
#pragma once

#include <cstdint>
#include <optional>

namespace stamp {

struct counts {
    std::uint64_t commits = 0;
    std::optional<std::uint64_t> aborts = 0;  ///< rolled-back attempts, if the build counts them
};

}  // namespace stamp
