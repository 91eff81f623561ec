// Which objects the operations of the workloads of Mishra's "HyflowCPP" (2013), section 6.2, open, read and write, and
// in which order: the structures are real, what they hold is not. The programs of apps/cluster do the same over real
// nodes; these know no node, so that the simulation need not bring one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/block.hpp"

namespace bench::cluster {

class pattern {
public:
    virtual ~pattern() = default;
    using maker = std::function<void(const object_id&, std::string bytes)>;
    /// Makes the objects that are there in the beginning.
    virtual void fill(const maker& make) const = 0;
    /// One operation, which only looks if `reads`. Draws from `draw` alone, so that it is the same when it runs again.
    virtual void run(block& in, dice draw, bool reads) const = 0;
    /// Whether what counts as a reader writes nevertheless.
    [[nodiscard]] virtual bool readers_write() const noexcept { return false; }
};

struct pattern_name {
    std::string_view name;
    unsigned objects;  ///< as in the paper
};
[[nodiscard]] const std::vector<pattern_name>& patterns();
/// `objects` 0: as many as in the paper. @throws std::invalid_argument where there is no such pattern.
[[nodiscard]] std::unique_ptr<pattern> make_pattern(std::string_view name, unsigned objects);

}  // namespace bench::cluster
