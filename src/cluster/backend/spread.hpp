// The objects of a cluster in several groups: each record is in one of them, by a hash of its key. What one group can
// answer alone it is asked alone, as if there were no other; a commit over several is crossing.hpp's.
//
// A get of several groups has an instant, too (B2). It asks those that something is wanted of, one after the other, and
// then all but the last of them once more, whether what they have said is current, as it asks those of which something
// is only held. What was current when it was read, and is when it is looked at again, was so in between, because
// versions do not come again, and because nothing is prepared unseen: a group shows no record that a prepared
// transaction writes. So all was current when the last of them answered.
//
//   S1  a block whose reads are all in one group goes on in the state that it began with there. The first that is in
//       another moves its snapshot to now, and it has no such state any more
//
// Thread safety: as engine's.
#pragma once

#include <optional>

#include "cluster/backend/address.hpp"
#include "cluster/backend/crossing.hpp"

namespace tutti::cluster::backend {

class spread final : public engine {
public:
    /// Two groups or more, in the order of their layout (layout.hpp).
    spread(std::vector<std::unique_ptr<group_engine>> groups, const settings& how, const backend::surroundings& by);

    const capabilities& can() const noexcept override { return can_; }
    std::size_t part_of(std::string_view k) const noexcept override;
    const backend::surroundings& around() const noexcept override { return others_.by(); }
    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override;
    std::unique_ptr<feed> open_feed() override;

private:
    /// Where all of it is, if it is in one part.
    [[nodiscard]] std::optional<std::size_t> only_part(std::span<const check> checks, std::span<const write> writes,
                                                       std::span<const key> wanted) const noexcept;
    /// What each part has of it, by ascending parts.
    [[nodiscard]] std::vector<share> shares_of(std::span<const check> checks, std::span<const write> writes,
                                               std::span<const key> wanted) const;
    // Each is one try of a get. If a transaction is in the way, `of.met` names it, and `where` the part that it is in.
    [[nodiscard]] verdict look_at_one(snapshot& of, freshness how, std::size_t where, std::span<const check> held,
                                      std::span<const key> wanted, std::vector<record>& found);
    [[nodiscard]] verdict look_at_all(snapshot& of, const std::vector<share>& shares, std::vector<record>& found,
                                      std::size_t& where);
    void commit_in_one(request& r, std::size_t where);

    std::vector<part> parts_;
    capabilities can_;
    settling others_;
    crossing crossing_;
    std::atomic<version> looked_{0};
};

/// `where` is //host:port,host:port;host:port,host:port. One group is as it is, and not spread. Throws refusal.
[[nodiscard]] std::unique_ptr<engine> open_groups(std::string_view where, const settings& how);

}  // namespace tutti::cluster::backend
