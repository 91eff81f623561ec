// The objects of a cluster in several groups: each record is in one group, by its slot (placing.hpp). A request that
// concerns one group goes to that group alone. crossing.hpp handles a commit over several groups.
//
// A get of several groups also has an instant (B2). The get asks the groups with wanted records, one after the other.
// Then the get asks all of these groups except the last once more whether their answers are still current. Groups with
// only held records are asked whether these are current. A record that was current when it was read, and still is at
// the second look, was current in between. The reasons are that versions never recur, and that a group does not show
// records that a prepared transaction writes. So all records were current when the last group answered.
//
//   S1  A block whose reads are all in one group continues in the state that it began with there. The block's first
//       read in another group moves its snapshot to now. From then on, the block has no such state.
//   S2  A group answers for a slot only in a state in which it has the slot. Each get reads the group's records of the
//       slots, and checks them again whenever it checks records. Each commit checks them. Records keep their versions
//       when they move, so a held record may be checked in any group.
//   S3  A feed breaks when a slot changes hands. Every sleeping block then checks its objects, and listens to all
//       groups that exist by then.
//
// Thread safety: as in engine.
#pragma once

#include <optional>

#include "cluster/backend/address.hpp"
#include "cluster/backend/crossing.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/moving.hpp"
#include "cluster/backend/placing.hpp"

namespace tutti::cluster::backend {

class spread final : public engine {
public:
    /// Makes an engine of at least two groups in the order of their layout (layout.hpp). The prefix began with the
    /// `first` of them. `open` opens groups that join.
    spread(std::vector<std::unique_ptr<group_engine>> groups, std::size_t first, const settings& how,
           const backend::surroundings& by, opener open = {});
    ~spread() override;

    const capabilities& can() const noexcept override { return can_; }
    std::size_t part_of(std::string_view k) const noexcept override;
    const backend::surroundings& around() const noexcept override { return others_.by(); }
    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override;
    std::unique_ptr<feed> open_feed() override;

    /// Learns which group has which slots, from all groups that have not left. Returns false if one does not answer.
    [[nodiscard]] bool look_around();
    /// Returns a mover of slots.
    [[nodiscard]] moving moves() noexcept { return {parts_, places_, others_, crossing_}; }
    [[nodiscard]] placing& places() noexcept { return places_; }
    [[nodiscard]] const parts& all() const noexcept { return parts_; }
    /// Asks the groups, except those in `but`, for their layout, and returns it. Adds groups that have joined to the
    /// parts.
    layout know_more(std::span<const std::size_t> but = {});
    /// Tells the groups the addresses of each group's members from now on, whenever these change. So a program that
    /// names some groups finds the others. A layout without addresses stays unchanged.
    /// REQUIRES: no other thread uses the engine yet.
    void keep_telling_addresses();

private:
    void tell_addresses();
    using map = placing::map;
    /// Returns the share of each part, by ascending parts. There is at least one.
    [[nodiscard]] std::vector<share> shares_of(const map& where, std::span<const check> checks,
                                               std::span<const write> writes, std::span<const key> wanted) const;
    // Each function is one try of a get. If a transaction is in the way, `of.met` names it, and `where` is its part.
    // `placed` becomes false if a part does not have a requested slot, or did not have it in that state (S2).
    [[nodiscard]] verdict look_at_one(snapshot& of, freshness how, const map& known, const share& s,
                                      std::vector<record>& found, bool& placed);
    [[nodiscard]] verdict look_at_all(snapshot& of, const map& known, const std::vector<share>& shares,
                                      std::vector<record>& found, std::size_t& where);
    void commit_in_one(request& r, const share& s);
    /// Returns true if one of the silent groups has left, and other groups have its slots.
    [[nodiscard]] bool has_left(std::span<const std::size_t> silent);
    [[nodiscard]] std::vector<std::size_t> parts_there(const layout& l) const;

    const opener open_;
    const bool batch_;
    bool tells_addresses_ = false;  // constant once several threads use the engine
    std::mutex growing_;
    layout known_;  // as it was read last
    parts parts_;
    capabilities can_;
    settling others_;
    crossing crossing_;
    placing places_;
    std::atomic<version> looked_{0};
};

/// Returns a function that opens groups by their entries in a layout.
[[nodiscard]] opener opener_of(const settings& how);
/// Opens an engine. `where` is //host:port,host:port;host:port,host:port. If there is only one group, that group itself
/// is the engine. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_groups(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
