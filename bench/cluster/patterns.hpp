// The objects that the operations of the workloads open, read and write, and the order: Mishra's "HyflowCPP" (2013),
// section 6.2. The structures are real, but their contents are not. The programs of apps/cluster do the same over real
// nodes. These patterns use no node, so that the simulation need not link one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/block.hpp"

namespace bench::cluster {

/// Operations that use one key each, so that another operation can undo them.
class keyed {
public:
    virtual ~keyed() = default;
    /// Returns the abstract lock of the key.
    [[nodiscard]] virtual object_id lock_of(dice draw) const = 0;
    /// Runs the writing operation. Returns false if it changed nothing.
    [[nodiscard]] virtual bool change(block& in, dice draw) const = 0;
    /// Undoes the operation. REQUIRES: it has changed something, and no other operation has used the key since.
    virtual void take_back(block& in, dice draw) const = 0;
};

class pattern {
public:
    virtual ~pattern() = default;
    using maker = std::function<void(const object_id&, std::string bytes)>;
    /// Makes the initial objects.
    virtual void fill(const maker& make) const = 0;
    /// Runs one operation, which only reads if `reads`. Draws only from `draw`, so that a repetition is the same.
    virtual void run(block& in, dice draw, bool reads) const = 0;
    /// Returns the number of transactions that make up an operation, one after the other. Usually one.
    [[nodiscard]] virtual unsigned parts(dice /*draw*/, bool /*reads*/) const { return 1; }
    virtual void run_part(block& in, dice draw, bool reads, unsigned /*part*/) const { run(in, draw, reads); }
    /// Returns how many of 100 operations only read, if the workload defines this.
    [[nodiscard]] virtual std::optional<unsigned> reads_of_100() const noexcept { return std::nullopt; }
    /// Returns true if the operations that count as readers also write.
    [[nodiscard]] virtual bool readers_write() const noexcept { return false; }
    /// Returns the same operations by their keys, or null.
    [[nodiscard]] virtual const keyed* keys() const noexcept { return nullptr; }
};

struct pattern_name {
    std::string_view name;
    unsigned objects;  ///< default of the paper
};
[[nodiscard]] const std::vector<pattern_name>& patterns();
/// `objects` 0: the paper's default. @throws std::invalid_argument for an unknown pattern.
[[nodiscard]] std::unique_ptr<pattern> make_pattern(std::string_view name, unsigned objects);

}  // namespace bench::cluster
