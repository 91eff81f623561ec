// Slots go from one group to another while programs use them (docs/cluster-replication.md, "Objects move", has the
// states and the proof).
//
//   importing  the group that is to have them says so, and takes copies, which it shows nobody
//   copies    of all that the other holds of them, and then of what is written meanwhile, until little is. What it
//             held of them before is cleared first: the other may have dropped erased records of those keys (ENG1)
//   write-blocked  the group that has them takes nothing more for them; the last copies
//   owned, moved  the switch: one transaction of both groups. It checks that the other has dropped no erased records since
//             the last copies, so the version of keys without a record is not lower in the group that has them now
//   cleared   the group that had them forgets what it held
//
// A mover may be killed anywhere, and others may do the same at once: each step checks what the groups say of the
// slots, so of two movers of the same slots one gives up.
//
// Thread safety: one thread.
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
        superseded,   ///< another does the same, or has done it: look anew
        unreachable,  ///< a group does not answer, or is too slow: the slots are where they were
    };
    /// REQUIRES: ascending, each once.
    [[nodiscard]] migration_result migrate(const std::vector<std::uint32_t>& slots, std::size_t from, std::size_t to);
    /// Clears what a group holds of slots that it does not have, left by one that was killed. False: it does not answer.
    [[nodiscard]] bool clear(std::size_t group);

    /// Brings what a group has prepared, and one of those groups decides, to its end. False: one does not answer.
    [[nodiscard]] bool resolve_prepared(std::size_t group, const std::set<std::uint64_t>& deciding_groups);

    struct migration_statistics {
        std::size_t copied = 0, copied_again = 0, bytes = 0;  ///< records; of them, written while they were copied
    };
    [[nodiscard]] const migration_statistics& statistics() const noexcept { return statistics_; }

private:
    using slot_checks = std::vector<check>;  ///< what a group says of the slots
    /// What `group` says of them from now on, if it says what `checks` says. `checks` becomes that.
    [[nodiscard]] engine_status write_slots(std::size_t group, slot_checks& checks, const std::string& text);
    /// `importing` is said anew where an answer was lost, so that copies which come late are refused.
    [[nodiscard]] engine_status copy_all(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                         slot_checks& importing, list_cursor& cursor, bool is_empty);
    [[nodiscard]] engine_status copy_changes(const slot_set& slots_moved, std::size_t from, std::size_t to,
                                             slot_checks& importing, list_cursor& cursor, std::size_t& count);
    /// Where an answer is lost, `again` may change what `still` checks before the records are sent once more.
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
    /// `absence`: of the group that has them, as `to` knows it.
    [[nodiscard]] engine_status switch_owner(std::size_t from, std::size_t to, const slot_checks& write_blocked,
                                             const slot_checks& importing, version absence);

    const group_table& groups_;
    slot_map& slot_map_;
    prepared_resolver& resolver_;
    two_phase_commit& committer_;
    migration_statistics statistics_;
};

}  // namespace tutti::cluster::backend
