// Snapshot readers: a block that only reads announces a time, and from then on reads the values of that time. It never
// restarts because of what others write, however long it runs.
//
// The idea. A reader of a snapshot does not need lists of versions. It needs one value for each word that was
// overwritten after its snapshot. So each announced reader owns a table of kept values (kept_values.hpp). The first
// writer that overwrites a word after the snapshot puts the old value there. The table becomes free when its reader
// ends. LSA-MV (Riegel, Felber, Fetzer, DISC 2006), JVSTM and Multiverse (PPoPP 2026) keep lists of versions instead.
// Multiverse, too, keeps versions only where a reader needs them.
//
//   announce:  claims a slot; limit S = time + some ticks; tag += 1; generation = even;
//              one compare-and-swap of the clock's word: time = S, one more snapshot. If the time has passed S: again
//   a commit:  holds all its locks; draws, by one load of the clock's word. Does the word show a snapshot? Then its
//              version is the time of that same load plus one. For each announced limit below that version, keeps the
//              old value of each word whose old version is within the limit. Validates; stores the new values and
//              releases the orecs, as always
//   a read:    the inlined path, with the bound S. If the orec is locked or newer: is a value kept? Otherwise waits for
//              the lock
//   withdraw:  generation = odd; one snapshot less in the clock's word
//
// Let A be the successful compare-and-swap of an announcement, and S its time.
//   SNP1  A writer that draws before A gets a version of at most S, because the time was below S. It held all its locks
//         at its draw. So it belongs to the snapshot, and the reader finds its locks or its versions.
//   SNP2  A writer that draws after A gets a version beyond S, and the word from which it draws shows the snapshot. So
//         it keeps what it overwrites, before it stores a value or releases an orec.
//   SNP3  The writer finds the announcement: the reader stores limit and generation before A. The writer's load of the
//         clock's word reads A or a later change. All changes are read-modify-writes, so they continue A's release
//         sequence. Neither side needs a further fence.
//   SNP4  Take the first writer after A that overwrites a variable. The old version is within S, so that writer keeps
//         the value. A reader that finds a newer version in the orec has acquired the kept value. (If an orec was only
//         given a later version, version_clock.hpp, 10, the reader gives up.)
//   SNP5  An orec of plain memory covers several words, so its version does not say which word was overwritten. Writers
//         keep each plain word, whatever its old version. The reader loads the word under an unlocked orec first, and
//         searches afterwards. If nothing is kept, the word was not overwritten after A and before that load.
//   SNP6  What a writer keeps is right even if its commit fails later: its old values are then still current, and the
//         next writer of the word finds them kept. A roll-back that draws a version (undo.hpp) keeps values like a
//         commit, because it leaves versions beyond S.
//   SNP7  A writer may find a limit of an announcement that then fails. No reader searches for what the writer keeps
//         then, because a new try of the announcement takes a new tag.
//   SNP8  A writer may read an older generation than limit. The tag then belongs to an earlier announcement, and no
//         reader searches for what the writer keeps.
//   SNP9  The snapshot contains every commit that ended before the block began, also the context's own, because S is
//         later than all versions drawn before A.
//   SNP10 A reader waits for locks, but owns nothing, so no cycle of waits passes through it. A commit that waits for
//         it because of plain memory (SNP11) has released its locks.
//   SNP11 Memory that was unlinked after A is not reused while the reader runs (memory/limbo.hpp), so the addresses in
//         the table name the words of the snapshot. A commit that makes plain memory private waits for the reader, if
//         the reader uses plain memory (core/privatization/quiescence.hpp).
// For SNP1, the reader executes a full fence after A: it must find the lock of a writer whose load came before A. The
// writer took its lock by a seq_cst access before that load. A fence is needed nowhere else: keep() ends with a seq_cst
// exchange, and the orec of a newer version is acquired.
#pragma once

#include "core/conflict/conflict.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/descriptor.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::algorithms::snapshots {

using core::descriptor;
using detail::word;

/// Announces a snapshot for the attempt of d, and sets d's bounds. Returns false, without effect, if all slots are in
/// use. REQUIRES: the state of d says running.
[[nodiscard]] bool announce(descriptor& d) noexcept;
/// Withdraws the snapshot that d has announced. May run on another context if d is suspended.
void withdraw(descriptor& d) noexcept;

/// Keeps the values that d is about to overwrite under `version`, for all announced snapshots that need them. Called by
/// a draw that has found a snapshot. REQUIRES: d holds the orecs of all its write entries.
void keep_overwritten(const descriptor& d, word version) noexcept;

/// Stores the value that was kept for d's snapshot. Returns false if none is kept.
[[nodiscard]] bool find_kept(const descriptor& d, const word* address, word& value) noexcept;
/// Returns true if a value that d may need could not be kept.
[[nodiscard]] bool has_overflowed(const descriptor& d) noexcept;
/// Gives `r` a version of this era if `seen`, which was loaded from it, is of an earlier one (version_clock.hpp, 9).
/// Then returns true: load the orec again.
[[nodiscard]] bool renew_if_stale(memory::orec& r, word seen) noexcept;
/// Ends the attempt, because a value of its snapshot is missing. The next attempt logs its reads instead.
[[noreturn]] void give_up(descriptor& d);

/// How often the reads of a snapshot may look again, because the orec of a plain word has changed meanwhile.
inline constexpr std::uint16_t max_turns = 10'000;

/// Forgets the snapshots of all contexts but that of `self`, in the child of a fork. `self` may be null.
void forget_others(const descriptor* self) noexcept;

/// Reads a location whose orec had the value `seen`, which is locked by another transaction or newer than d's snapshot.
/// Returns false if the caller has to load the orec again.
template <class Location>
bool read(descriptor& d, const Location& location, word seen, word& value) {
    word kept = 0;
    if (find_kept(d, location.address(), kept)) {
        value = location.extract(kept);
        return true;
    }
    if (memory::is_locked(seen)) {
        core::resolve_owner_conflict(d, location.orec(), seen, abort_cause::conflict_read_locked);
        return false;
    }
    if constexpr (Location::is_plain) {  // SNP5
        value = location.read();
        // Acquire: the search below comes later. The orec may have been released with the same version again.
        if (location.orec().load(std::memory_order_acquire) != seen) {
            if (++d.algorithm_data.snapshot.turns == max_turns) give_up(d);
            return false;
        }
        if (!core::injected(core::fault::search_before_load) && find_kept(d, location.address(), kept)) {
            value = location.extract(kept);
            return true;
        }
        if (!has_overflowed(d)) return true;
    }
    if (renew_if_stale(location.orec(), seen)) return false;
    give_up(d);
}

}  // namespace tutti::algorithms::snapshots
