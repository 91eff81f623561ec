// Steps of a replicated group that a test can disable, to prove that the simulation would notice the error. In the
// library, `injected` is a constant.
#pragma once

#include <cstdint>

namespace tutti::cluster::replica {

enum class fault : std::uint8_t {
    none,
    no_check,                ///< a commit is applied without its checks
    half_check,              ///< a commit checks only the records that it also writes: write skew
    writes_in_parts,         ///< a conflicting commit has already written its first record
    applied_twice,           ///< an entry is applied twice
    same_version,            ///< commits of one entry share a version
    erase_forgets,           ///< an erased record has version 0 again
    saves_no_versions,       ///< a snapshot of the state machine forgets the versions of its records
    no_barrier,              ///< a member that believes that it leads answers reads from its state at once
    read_by_lease,           ///< a leader answers reads at once for an election's time after its last barrier
    early_answer,            ///< a commit is acknowledged once it is in the leader's log, without a majority
    lost_is_conflict,        ///< a deposed leader reports that pending commits will never happen
    old_below_window,        ///< a read of a state whose records were dropped returns newer records
    counts_for_old_terms,    ///< a leader counts acknowledgements of entries of earlier terms
    more_than_compared,      ///< a follower acknowledges entries that the leader has not compared
    configuration_stays,     ///< a member continues with a configuration that was cut off its log
    changes_out_of_order,    ///< followers apply the commits of an entry in the wrong order
    prepared_holds_nothing,  ///< a prepared transaction does not hold its reads and writes
    prepared_ignored,        ///< a get shows the pending writes of a prepared transaction
    finished_again,          ///< a finished transaction can be finished once more
    prepared_uncounted,      ///< a state has the same version before and after a transaction is prepared
    prepared_not_saved,      ///< a snapshot of the state machine forgets the prepared transactions
    imported_uncounted,      ///< versions are not raised above those of imported records
    saved_again,             ///< entries that a follower has saved and dropped are appended once more
    image_of_later_state,    ///< an image shows records changed since its start in their later state, or not at all
    imports_older,           ///< an imported record that arrives late replaces a newer one
    absence_stays,           ///< keys of dropped erased records keep the earlier version of absent keys
    absence_not_saved,       ///< a snapshot of the state machine forgets the version of keys without a record
    absence_not_imported,    ///< a group that imports records of another group ignores that group's absence
    commits_behind_piece,    ///< a leader lets followers commit entries behind the end of a cut message
    sends_all,               ///< a leader sends a member all missing entries at each heartbeat until the first answer
    sends_uncounted_again,   ///< a leader resends a piece that the member has but C-Raft does not count
};

#if defined(TUTTI_CLUSTER_FAULTS)
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
#endif

}  // namespace tutti::cluster::replica
