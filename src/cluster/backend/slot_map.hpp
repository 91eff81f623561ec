// The group of each slot, as far as a program knows, and how the program learns about changes.
//
// A program's map may be outdated. Each get reads, and each commit checks, the group's records of the slots that it
// uses, in the same state of the group's log. So an outdated map only costs another request.
//
//   SMP1  A slot's record stays the same for as long as its version stays the same. So a request that names the version
//         is answered by the group that has the slot.
//   SMP2  A *write-blocked* slot is about to move to another group. Reads of the slot work, but checks and writes wait.
//         If a slot has been write-blocked for `prepared_resolver::grace` by a program's clock, this program regards
//         the migrator as lost, and allows writes again. If the migrator still runs, it tries the move again.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cluster/backend/prepared_resolver.hpp"

namespace tutti::cluster::backend {

class slot_map {
public:
    struct slot_location {
        std::size_t group = 0;
        version at = 0;  ///< the version of that group's record of the slot
        bool write_blocked = false;
        friend bool operator==(const slot_location&, const slot_location&) = default;
    };
    using slot_locations = std::vector<slot_location>;  ///< by slots

    /// Makes the map of a prefix that began with `initial_group_count` groups. `reload_layout` adds groups that have
    /// joined.
    slot_map(const group_table& all, prepared_resolver& resolver, std::size_t initial_group_count,
             std::function<void()> reload_layout);

    [[nodiscard]] std::shared_ptr<const slot_locations> locations() const;
    [[nodiscard]] std::uint32_t slot_of(std::string_view k) const noexcept {
        return static_cast<std::uint32_t>(stable_hash(k) % slots_);
    }
    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t initial_group_count() const noexcept { return initial_group_count_; }

    enum class refresh_result : std::uint8_t { unchanged, changed, unreachable };
    /// Asks one group after the other until the owner of each slot is found. Returns `changed` if the map differs from
    /// `known`.
    [[nodiscard]] refresh_result find_owners(std::span<const std::uint32_t> slots, const slot_locations& known);
    /// Asks the given groups which slots they have. Returns `changed` if their answers differ from the map.
    [[nodiscard]] refresh_result refresh(std::span<const std::size_t> groups);
    /// Tries once to allow writes to the slots that are write-blocked in `known` (SMP2). Then updates the map with the
    /// current state of `slots`.
    void resolve_write_blocked(std::span<const std::uint32_t> slots, const slot_locations& known);
    /// Returns the group's records of the slots, or nullopt if the group does not answer.
    [[nodiscard]] std::optional<std::vector<slot_record>> read_records(std::size_t group,
                                                                       std::span<const std::uint32_t> slots);
    /// Returns true if the slot belongs to the group according to the slot's record.
    [[nodiscard]] bool owns(std::size_t group, std::uint32_t slot, const slot_record& record_there) const noexcept {
        return record_there.is == slot_record::state::owned || record_there.is == slot_record::state::write_blocked ||
               (record_there.is == slot_record::state::unset && slot % initial_group_count_ == group);
    }

private:
    [[nodiscard]] std::optional<std::size_t> group_of(std::uint64_t number);
    void set_locations(const std::map<std::uint32_t, slot_location>& found);

    const group_table& groups_;
    prepared_resolver& resolver_;
    const std::size_t initial_group_count_;
    const std::uint32_t slots_;
    const std::function<void()> reload_layout_;
    mutable std::mutex guard_;
    std::shared_ptr<const slot_locations> locations_;
    std::map<std::pair<std::uint32_t, version>, runtime_env::clock::time_point> write_blocked_since_;
};

}  // namespace tutti::cluster::backend
