// Distributes the slots of a prefix evenly over its groups, a few at a time. Groups join, and leave once they have no
// slots (docs/cluster-replication.md, "Objects move").
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/backend/spread.hpp"

namespace tutti::cluster::backend {

class evening {
public:
    struct owner {
        layout::entry is;
        std::size_t slots = 0;
    };
    struct facts {
        std::vector<owner> groups;
        std::size_t slots = 0;
        std::size_t moved = 0, copied = 0, bytes = 0;
    };
    using tell = std::function<void(const facts&)>;

    /// Opens the groups of an address, as open_engine does. Throws refusal.
    evening(const std::string& address, const settings& how);

    [[nodiscard]] facts look();
    /// Adds and removes groups, and moves slots until the groups are even. A group is given by the addresses of its
    /// members, separated by commas. Throws refusal if a group does not answer, or another program moves slots, too.
    facts even_out(const std::vector<std::string>& joins, const std::vector<std::string>& leaves, const tell& told);

private:
    void join(const std::vector<std::string>& all);
    [[nodiscard]] std::set<std::uint64_t> numbers_of(const std::vector<std::string>& all) const;
    /// Tells all groups the layout in `layout_`.
    void say_layout();
    void open();
    /// Moves some slots. Returns false if the groups are even.
    [[nodiscard]] bool step(const std::set<std::uint64_t>& leaving);
    void finish_leaving(const std::set<std::uint64_t>& leaving);
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> slots_by_parts();
    [[noreturn]] void refuse_silent() const;

    settings how_;
    std::map<std::uint64_t, std::vector<std::string>> named_;
    layout layout_;
    std::set<std::uint64_t> gone_;                       // groups that had left before
    std::vector<std::unique_ptr<group_engine>> groups_;  // used until `open`
    std::unique_ptr<spread> all_;
    facts done_;
    unsigned in_vain_ = 0;  // consecutive steps without progress; a step that met a silent group counts six times
};

}  // namespace tutti::cluster::backend
