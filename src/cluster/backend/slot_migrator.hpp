// Moves slots from one group to another while programs use them (docs/cluster-replication.md, "Objects move", has the
// states and the proof). A move has these steps:
//
//   importing      The receiving group records that it imports the slots. Programs do not see the copies that it
//                  receives.
//   copies         The receiving group first clears the copies of an earlier move, because the giving group may have
//                  dropped erased records of those keys (ENG1). Then it receives all records of the slots, and the
//                  writes that happen meanwhile, until few are left.
//   write-blocked  The giving group accepts no more writes to the slots. The last writes are copied.
//   owned, moved   One transaction of both groups switches the owner. It checks that the giving group has dropped no
//                  erased records since the last copies. So the version of keys without a record is not lower in the
//                  new owner.
//   cleared        The giving group clears its records of the slots.
//
// A migrator may be killed at any point, and several migrators may move the same slots. Each step checks the groups'
// records of the slots, so if two migrators move the same slots, one of them gives up.
//
// Thread safety: one thread uses an object.
#pragma once

#include <functional>
#include <set>

#include "cluster/backend/slot_map.hpp"
#include "cluster/backend/two_phase_commit.hpp"

namespace tutti::cluster::backend {

class slot_migrator {
public:
    slot_migrator(const group_table& all, slot_map& owners, prepared_resolver& resolver, two_phase_commit& committer)
        : groups_{all}, slot_map_{owners}, resolver_{resolver}, committer_{committer} {}

    enum class migration_result : std::uint8_t {
        moved,
        superseded,   ///< another migrator moves the slots, or has moved them, so the caller has to read the map again
        unreachable,  ///< a group does not answer, or is too slow: the slots have not moved
    };
    /// Moves slots from group `from` to group `to`.
    /// REQUIRES: `slots` is ascending, and contains each slot once.
    [[nodiscard]] migration_result migrate(const std::vector<std::uint32_t>& slots, std::size_t from, std::size_t to);
    /// Clears records of slots that the group does not own. A killed migrator may have left such records. Returns false
    /// if the group does not answer.
    [[nodiscard]] bool clear(std::size_t group);

    /// Resolves the transactions that `group` has prepared and that one of `deciding_groups` decides. Returns false if
    /// a group does not answer.
    [[nodiscard]] bool resolve_prepared(std::size_t group, const std::set<std::uint64_t>& deciding_groups);

    struct migration_statistics {
        std::size_t copied = 0, copied_again = 0, bytes = 0;  ///< records; records written during the copy; bytes of
                                                              ///< both
    };
    [[nodiscard]] const migration_statistics& statistics() const noexcept { return statistics_; }

private:
    using slot_checks = std::vector<check>;  ///< the versions of a group's records of the slots
    /// Writes `text` into the group's records of the slots if they still have the versions in `checks`. Sets `checks`
    /// to the new versions.
    [[nodiscard]] engine_status write_slots(std::size_t group, slot_checks& checks, const std::string& text);
    /// Copies all records of the slots. If an answer is lost, writes the slots' records in `importing` again, so that
    /// the group rejects late copies.
    [[nodiscard]] engine_status copy_all(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                         slot_checks& importing, list_cursor& cursor, bool is_empty);
    [[nodiscard]] engine_status copy_changes(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                             slot_checks& importing, list_cursor& cursor, std::size_t& count);
    /// Sends records to `group`. If an answer is lost, calls `announce_again`, and then sends the records again.
    /// `announce_again` may change the checks in `still`.
    [[nodiscard]] engine_status import_records(std::size_t group, const slot_checks& still,
                                               std::span<const change> records, version absence,
                                               const std::function<engine_status()>& announce_again);
    [[nodiscard]] std::function<engine_status()> import_announcement(std::size_t from, std::size_t to,
                                                                     slot_checks& importing);
    [[nodiscard]] engine_status clear(std::size_t group, const slot_set& slots_moved, const slot_checks& still,
                                      const std::function<engine_status()>& announce_again);
    [[nodiscard]] bool read_slots(std::size_t group, const std::vector<std::uint32_t>& slots, slot_checks& now,
                                  std::vector<slot_record>& records);
    [[nodiscard]] bool owns_all(std::size_t group, const std::vector<std::uint32_t>& slots,
                                const std::vector<slot_record>& records) const;
    /// Makes `to` the owner of the slots. `absence` is the version of keys without a record in `from`, as of the last
    /// copy.
    [[nodiscard]] engine_status switch_owner(std::size_t from, std::size_t to, const slot_checks& write_blocked,
                                             const slot_checks& importing, version absence);

    const group_table& groups_;
    slot_map& slot_map_;
    prepared_resolver& resolver_;
    two_phase_commit& committer_;
    migration_statistics statistics_;
};

}  // namespace tutti::cluster::backend
