// What a build counts.
#pragma once

#include <cstdint>
#include <optional>

namespace stamp {

struct counts {
    std::uint64_t commits = 0;
    std::optional<std::uint64_t> aborts = 0;  ///< attempts that came to nothing, if anybody counts
};

}  // namespace stamp
