// One of the groups that objects are spread over, and what of a commit is in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

struct part {
    std::unique_ptr<engine> asked;  ///< for gets and commits: the group, or what has them go together (batching.hpp)
    group_engine* group = nullptr;  ///< the same group
};

/// What a get or commit has in one part.
struct share {
    std::size_t part = 0;
    std::vector<check> checks;
    std::vector<write> writes;
    std::vector<key> wanted;
    std::vector<std::size_t> places;  ///< of `wanted`, in what was asked for

    [[nodiscard]] request as_request() const {
        request r;
        r.checks = checks;
        r.writes = writes;
        return r;
    }
};

}  // namespace tutti::cluster::backend
