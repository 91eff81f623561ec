// Distributes the slots of a prefix evenly over its groups, a few at a time. Groups may join. A group that is to leave
// does so once it has no slots (docs/cluster-replication.md, "Objects move").
//
// Thread safety: one thread uses an object.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/backend/sharded_engine.hpp"

namespace tutti::cluster::backend {

class rebalancer {
public:
    struct slot_owner {
        layout::group_entry group;
        std::size_t slots = 0;
    };
    struct progress {
        std::vector<slot_owner> groups;
        std::size_t slots = 0;
        std::size_t moved = 0, copied = 0, bytes = 0;
    };
    using progress_callback = std::function<void(const progress&)>;

    /// Opens the groups of an address, as open_engine does. Throws engine_error.
    rebalancer(const std::string& address, const settings& how);

    [[nodiscard]] progress read_progress();
    /// Adds and removes groups, and moves slots until the groups are even. Each string contains the addresses of one
    /// group's members, separated by commas. Throws engine_error if a group does not answer, or if another program is
    /// moving slots at the same time.
    progress rebalance(const std::vector<std::string>& added, const std::vector<std::string>& removed,
                       const progress_callback& report);

private:
    void add_groups(const std::vector<std::string>& all);
    [[nodiscard]] std::set<std::uint64_t> numbers_of(const std::vector<std::string>& all) const;
    /// Sends the layout in `layout_` to all groups.
    void send_layout();
    void open();
    /// Moves some slots. Returns false if the groups are even.
    [[nodiscard]] bool step(const std::set<std::uint64_t>& leaving);
    void finish_leaving(const std::set<std::uint64_t>& leaving);
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> slots_by_groups();
    [[noreturn]] void throw_unanswered() const;

    settings how_;
    std::map<std::uint64_t, std::vector<std::string>> given_addresses_;
    layout layout_;
    std::set<std::uint64_t> left_before_;                // groups that had left before
    std::vector<std::unique_ptr<group_engine>> groups_;  // used until `open`
    std::unique_ptr<sharded_engine> engine_;
    progress progress_;
    unsigned futile_steps_ = 0;  // consecutive steps without progress; a step that met a silent group counts six times
};

}  // namespace tutti::cluster::backend
