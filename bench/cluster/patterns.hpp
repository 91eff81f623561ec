// Which objects the operations of the workloads of Mishra's "HyflowCPP" (2013), section 6.2, open, read and write, and
// in which order: the structures are real, what they hold is not. The programs of apps/cluster do the same over real
// nodes; these know no node, so that the simulation need not bring one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/block.hpp"

namespace bench::cluster {

/// Operations each of which uses one key, so that another one takes it back.
class keyed {
public:
    virtual ~keyed() = default;
    /// The abstract lock of the key.
    [[nodiscard]] virtual object_id lock_of(dice draw) const = 0;
    /// The operation that writes. False: there was nothing to change.
    [[nodiscard]] virtual bool change(block& in, dice draw) const = 0;
    /// REQUIRES: it has changed something, and nobody has used the key since.
    virtual void take_back(block& in, dice draw) const = 0;
};

class pattern {
public:
    virtual ~pattern() = default;
    using maker = std::function<void(const object_id&, std::string bytes)>;
    /// Makes the objects that are there in the beginning.
    virtual void fill(const maker& make) const = 0;
    /// One operation, which only looks if `reads`. Draws from `draw` alone, so that it is the same when it runs again.
    virtual void run(block& in, dice draw, bool reads) const = 0;
    /// An operation that is several transactions, one after the other, each of which is a part; else there is one part.
    [[nodiscard]] virtual unsigned parts(dice /*draw*/, bool /*reads*/) const { return 1; }
    virtual void run_part(block& in, dice draw, bool reads, unsigned /*part*/) const { run(in, draw, reads); }
    /// How many of 100 operations only look, where the workload says so itself.
    [[nodiscard]] virtual std::optional<unsigned> reads_of_100() const noexcept { return std::nullopt; }
    /// Whether what counts as a reader writes nevertheless.
    [[nodiscard]] virtual bool readers_write() const noexcept { return false; }
    /// The same operations by their keys; null if they have none.
    [[nodiscard]] virtual const keyed* keys() const noexcept { return nullptr; }
};

struct pattern_name {
    std::string_view name;
    unsigned objects;  ///< as in the paper
};
[[nodiscard]] const std::vector<pattern_name>& patterns();
/// `objects` 0: as many as in the paper. @throws std::invalid_argument where there is no such pattern.
[[nodiscard]] std::unique_ptr<pattern> make_pattern(std::string_view name, unsigned objects);

}  // namespace bench::cluster
