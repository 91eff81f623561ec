// The objects of a cluster in several groups: each record is in one group, by its slot (slot_map.hpp). A request that
// concerns one group goes to that group alone. two_phase_commit.hpp handles a commit over several groups.
//
// A get of several groups also has an instant (ENG2). The get asks the groups with wanted records, one after the other.
// Then the get asks all of these groups, except the last one, whether their answers are still current. Groups with only
// held records are asked whether these records are current. A record that was current when it was read, and is still
// current at the second check, was current in between. The reason is that versions never recur, and that a group does
// not show records that a prepared transaction writes. So all records were current when the last group answered.
//
//   SHD1  As long as all reads of a block are in one group, each new read can show the same state of that group as the
//         earlier reads. The first read in another group moves the block's snapshot to now. Later reads of the block
//         show the current states of its groups.
//   SHD2  A group's answer about the objects of a slot counts only if the group had the slot in the state that the
//         answer shows. The group's own record of the slot shows this. So each get reads or checks these slot records
//         together with the objects, and each commit checks them. A record keeps its version when its slot moves, so a
//         version from one group can be checked in another group.
//   SHD3  A feed breaks when a slot moves to another group. Every sleeping block then checks its objects, and listens
//         to all groups that exist at that time.
//
// Thread safety: as in engine.
#pragma once

#include <optional>

#include "cluster/backend/address.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/slot_map.hpp"
#include "cluster/backend/slot_migrator.hpp"
#include "cluster/backend/two_phase_commit.hpp"

namespace tutti::cluster::backend {

class sharded_engine final : public engine {
public:
    /// Makes an engine of at least two groups in the order of their layout (layout.hpp). The prefix began with the
    /// first `initial_group_count` of these groups. Calls `open` to open groups that join.
    sharded_engine(std::vector<std::unique_ptr<group_engine>> groups, std::size_t initial_group_count,
                   const settings& how, const backend::runtime_env& env, group_opener open = {});
    ~sharded_engine() override;

    const capabilities& abilities() const noexcept override { return abilities_; }
    std::size_t group_of(std::string_view k) const noexcept override;
    const backend::runtime_env& env() const noexcept override { return resolver_.env(); }
    engine_status get(read_snapshot& snapshot, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override;
    std::unique_ptr<key_feed> open_key_feed() override;

    /// Learns which group has which slots. Asks all groups that have not left. Returns false if a group does not
    /// answer.
    [[nodiscard]] bool refresh_slots();
    /// Returns an object that moves slots.
    [[nodiscard]] slot_migrator migrator() noexcept { return {groups_, slot_map_, resolver_, committer_}; }
    [[nodiscard]] slot_map& known_slots() noexcept { return slot_map_; }
    [[nodiscard]] const group_table& groups() const noexcept { return groups_; }
    /// Asks the groups, except those in `except`, for their layout, and returns it. Adds groups that have joined to
    /// `groups_`.
    layout reload_layout(std::span<const std::size_t> except = {});
    /// From now on, sends the addresses of a group's members to all groups whenever the addresses change. So a program
    /// that names some groups finds the other groups. A layout without addresses stays unchanged. REQUIRES: no other
    /// thread uses the engine yet.
    void keep_announcing_addresses();

private:
    void announce_addresses();
    using slot_locations = slot_map::slot_locations;
    /// Splits an operation into one request for each group that it concerns, ordered by group. Returns at least one
    /// request.
    [[nodiscard]] std::vector<group_request> requests_by_group(const slot_locations& locations,
                                                               std::span<const check> checks,
                                                               std::span<const write> writes,
                                                               std::span<const key> wanted) const;
    // Each of these functions is one try of a get. If a transaction blocks the get, `snapshot.blocked_by` names this
    // transaction, and `blocked_in` is the group that has prepared it. `placed` becomes false if a group does not have
    // a requested slot, or did not have the slot in the requested state (SHD2).
    [[nodiscard]] engine_status read_from_one(read_snapshot& snapshot, freshness how, const slot_locations& known,
                                              const group_request& s, std::vector<record>& found, bool& placed);
    [[nodiscard]] engine_status read_from_all(read_snapshot& snapshot, const slot_locations& known,
                                              const std::vector<group_request>& requests, std::vector<record>& found,
                                              std::size_t& blocked_in);
    void commit_in_one(request& r, const group_request& s);
    /// Returns true if one of the silent groups has left, and other groups have its slots.
    [[nodiscard]] bool has_left(std::span<const std::size_t> silent);
    [[nodiscard]] std::vector<std::size_t> present_groups(const layout& l) const;

    const group_opener open_;
    const bool batch_;
    bool announces_addresses_ = false;  // does not change once several threads use the engine
    std::mutex layout_guard_;
    layout known_layout_;  // the layout as it was read last
    group_table groups_;
    capabilities abilities_;
    prepared_resolver resolver_;
    two_phase_commit committer_;
    slot_map slot_map_;
    std::atomic<version> reads_of_several_{0};
};

/// Returns a function that opens groups by their entries in a layout.
[[nodiscard]] group_opener make_group_opener(const settings& how);
/// Opens an engine. `where` is //host:port,host:port;host:port,host:port. If there is only one group, returns that
/// group's engine itself. Throws engine_error.
[[nodiscard]] std::unique_ptr<engine> open_groups(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
