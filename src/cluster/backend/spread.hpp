// The objects of a cluster in several groups: each record is in one of them, by its slot (placing.hpp). What one group
// can answer alone it is asked alone, as if there were no other; a commit over several is crossing.hpp's.
//
// A get of several groups has an instant, too (B2). It asks those that something is wanted of, one after the other, and
// then all but the last of them once more, whether what they have said is current, as it asks those of which something
// is only held. What was current when it was read, and is when it is looked at again, was so in between, because
// versions do not come again, and because nothing is prepared unseen: a group shows no record that a prepared
// transaction writes. So all was current when the last of them answered.
//
//   S1  a block whose reads are all in one group goes on in the state that it began with there. The first that is in
//       another moves its snapshot to now, and it has no such state any more
//   S2  a group answers for a slot that it has in the very state that it answers from: each get reads what it says of
//       the slots, and looks at that again where it looks at anything again; each commit checks it. Records keep their
//       versions when they move, so what a block holds is held wherever it is
//   S3  a feed breaks when a slot changes hands: every block that sleeps looks for itself, and listens to all groups
//       that there are then
//
// Thread safety: as engine's.
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
    /// Two groups or more, in the order of their layout (layout.hpp), `first` of which the prefix began with; `open`
    /// opens others that join.
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

    /// Which group has which slots, of all that have not left. False: one does not answer.
    [[nodiscard]] bool look_around();
    /// For a mover of slots.
    [[nodiscard]] moving moves() noexcept { return {parts_, places_, others_, crossing_}; }
    [[nodiscard]] placing& places() noexcept { return places_; }
    [[nodiscard]] const parts& all() const noexcept { return parts_; }
    /// What the groups say of themselves, asked of one that is none of those. Groups that have joined are among the
    /// parts then.
    layout know_more(std::span<const std::size_t> but = {});
    /// From now on the groups are told where the members of each are, whenever these change: a program that names some
    /// of the groups finds the others by what those say. A layout without addresses stays as it is. REQUIRES: no other
    /// thread uses the engine yet.
    void keep_telling_addresses();

private:
    void tell_addresses();
    using map = placing::map;
    /// What each part has of it, by ascending parts; one share at least.
    [[nodiscard]] std::vector<share> shares_of(const map& where, std::span<const check> checks,
                                               std::span<const write> writes, std::span<const key> wanted) const;
    // Each is one try of a get. If a transaction is in the way, `of.met` names it, and `where` the part that it is in.
    // False in `placed`: a part has not, or had not in that state, a slot that it was asked for (S2).
    [[nodiscard]] verdict look_at_one(snapshot& of, freshness how, const map& known, const share& s,
                                      std::vector<record>& found, bool& placed);
    [[nodiscard]] verdict look_at_all(snapshot& of, const map& known, const std::vector<share>& shares,
                                      std::vector<record>& found, std::size_t& where);
    void commit_in_one(request& r, const share& s);
    /// Whether one of those that do not answer has left, and others have said that they have its slots.
    [[nodiscard]] bool has_left(std::span<const std::size_t> silent);
    [[nodiscard]] std::vector<std::size_t> parts_there(const layout& l) const;

    const opener open_;
    const bool batch_;
    bool tells_addresses_ = false;  // never changes once several threads use the engine
    std::mutex growing_;
    layout known_;  // as it was last told
    parts parts_;
    capabilities can_;
    settling others_;
    crossing crossing_;
    placing places_;
    std::atomic<version> looked_{0};
};

/// Opens groups by what a layout says of them.
[[nodiscard]] opener opener_of(const settings& how);
/// `where` is //host:port,host:port;host:port,host:port. One group is as it is, and not spread. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_groups(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
