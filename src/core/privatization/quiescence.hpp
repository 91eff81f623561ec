// Safe privatization of plain memory.
//
// A commit may make memory unreachable for other transactions, and its caller may then access that memory directly. But
// transactions that began earlier may still read the memory under their old snapshots, or store to it. So an update
// commit waits for these transactions, but only for those that use plain memory at all:
//
//   a transaction, before its first plain access:   uses_plain_memory = 1 (seq_cst exchange); refresh the snapshot, or
//                                                    abort
//   a commit:                                        take orecs, or the one lock (seq_cst read-modify-writes);
//                                                    publish; wait for every running transaction with
//                                                    uses_plain_memory == 1
//
// There are two cases. Either the commit sees the flag and waits. Or the exchange comes after the commit has locked its
// last orec, and the refresh finds that orec locked or published. In the second case, a transaction that has read
// nothing that the commit changed finds the memory unreachable, like any transaction that starts later. A transaction
// that has read such data aborts before it accesses the memory.
//
// The wait need not last until the transaction ends. It is enough that the transaction refreshes its snapshot, because
// this leads to the second case. So a commit that has waited for a while asks for a refresh:
//
//   the commit:              replies_requested += 1 (seq_cst); closes the other's bounds; waits for its end, or for
//                            `replies_given`
//   the other, in a barrier: reads `replies_requested` (acquire); refreshes, or aborts; replies_given = the value that
//                            it read (release)
//
// The request comes after the commit has published, so the refresh finds every read of the other transaction that the
// commit has overwritten. The other transaction can reach the private memory only by a link that the commit has cut, so
// its read of the old link is among these reads. The other transaction's writes in place are under orecs that it owns,
// and it has reached these places by reads that are current. Strict, irrevocable and unlogged transactions and attempts
// in hardware do not answer, so the commit waits for their end. If a transaction opens its bounds at the moment when
// the commit closes them, the bounds may stay open. The transaction then answers at its next barrier that is not
// inlined, or ends.
//
// A commit visits the members of the set in quiescence_set.hpp, which a transaction enters before its exchange. If the
// commit misses a transaction that enters the set later, that transaction does its exchange even later. Its refresh
// then finds the orecs that the commit has taken or published, as above.
//
// A process that never uses plain memory never waits, because only the first plain access of a process raises
// `flag_plain_memory`. Two commits cannot wait for each other, because a commit waits only when its own transaction is
// over. A commit does not wait while its context holds something that the awaited transactions may be waiting for. This
// rule concerns two kinds of commits: an open-nested commit, and the commit of an undo action, whose transaction keeps
// its abstract locks until all undo actions have run. Such a commit defers its wait, and its announcement stays visible
// until the context has released everything that it holds. A reader defers its wait in the same way. A context waits as
// a reader only after it has ended all its own publications; otherwise it would wait for itself.
//
// The ownership of private memory may pass to a reader. A context may read what the commit published, in a block or
// outside of one, and access the memory directly while the commit still waits. So readers wait, too:
//
//   a commit:                                   privatizing_version = its version; publish; wait as above;
//                                               privatizing_version = 0
//   a reader that did not publish, at its end:  waits for every announced version, up to the latest that it has read
//
// The commit enters the set before that. A reader has acquired an orec that the commit released when it published. So
// the reader finds the announced version, or finds that the commit has withdrawn it. A version later than all versions
// that the reader has read belongs to a commit that has passed no memory to the reader, directly or through other
// commits. The reason: a commit that reads another's publication has a later version than that publication. An update
// waits for running transactions itself, and this wait covers memory that was passed to it.
//
// The reader finds the versions that it has read in its log. An orec in the log that is locked now, or has a version
// beyond the snapshot, was overwritten later, and no longer shows the version that was read. Nor does the log show what
// a nested block read under an orec of its own and then rolled back. In both cases the reader uses its snapshot bound
// instead.
//
// A reader shares its result with all readers, because reading the announcements is expensive while others commit. Most
// versions that readers have read are older than the latest result:
//
//   a commit, before it draws its version: privatizing_version = a bound below it, `unpublished`; light fence; is plain
//                                          memory used? then it enters the set, if it has to, and fences
//   a reader with a snapshot that admits the version: has sampled the clock after the draw; reads privatizing_version
//
// The reader's snapshot admits the version, so its sample shows the clock as moved by the draw. So the commit's fence
// came before the sample (both seq_cst), and the reader finds the bound, or the version. Take a version of that
// snapshot that is older than all bounds that the reader has found, and older than all versions that it has found and
// not waited for. No commit quiesces for that version, now or later. The context that raises flag_plain_memory executes
// a heavy fence, and adds to the set every descriptor that announces a bound or a version. Only then does the context
// raise flag_plain_memory_fenced. A commit that missed flag_plain_memory has stored its bound before that fence. A
// reader that does not see flag_plain_memory_fenced checks all descriptors, and records no result.
//
// The results are versions, so they hold only until the version clock starts anew (algorithms/new_era.hpp). So a
// context announces that it will store a result, before the end of the transaction whose snapshot it uses:
//
//   a context:              `pending_quiescence_waits` += 1; state = idle (release); checks and waits; stores its
//                           result; `pending_quiescence_waits` -= 1 (release)
//   the clock's renewer:    finds all idle (acquire), then `pending_quiescence_waits` and `privatizing_version` of all
//                           at 0 (acquire); resets the results
//
// While no transaction runs, no context announces a result or a publication for a transaction. So a context that has
// announced a result has stored the result before the results are reset. A wait without a snapshot
// (await_all_quiescence) stores no result.
//
// No reader waits for a bound, for two reasons. No transaction has read the unpublished values. And the commit may be
// asking participants or running at_commit actions, which may wait for the reader. The version replaces the bound
// before the commit releases its first orec.
#pragma once

#include <utility>

#include "base/fence.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence_set.hpp"
#include "core/state/commit_flags.hpp"
#include "core/state/descriptor.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {

// A block of the language sets its flag `uses_plain_memory` when it begins, before it takes its snapshot, and leaves
// the flag set. The flag has no meaning while no transaction runs.

/// Declares that the process uses plain memory from now on. A descriptor that sets its flag without enter_plain calls
/// this function first.
void use_plain_memory() noexcept;

/// Prepares for the first plain access of an attempt. May abort. A snapshot cannot be refreshed, so an attempt that
/// reads one starts over, and enters before it announces its next snapshot (begin_plain).
void enter_plain(descriptor& d);
/// Declares the use of plain memory by an attempt that is running, but has no snapshot yet.
void begin_plain(descriptor& d) noexcept;

/// What a transaction has to do at its end for memory that is private from then on.
enum class privatization_role : std::uint8_t {
    none,
    privatizer,  ///< the transaction has published: call quiesce
    receiver     ///< the transaction only read: call await_quiescence
};

/// Returns true if transactions of the process use plain memory. Relaxed: see commit_flags.hpp. If a reader has read
/// values that were published after the bit was set, the reader finds the bit set. The reason: the context that set the
/// bit executed a heavy fence before it checked anything.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool plain_memory_is_used() noexcept {
    return (commit_flags.load(std::memory_order_relaxed) & flag_plain_memory) != 0;
}

/// A version up to which no commit still quiesces. All readers share this result.
alignas(128) inline constinit detail::shared<word> quiesced_up_to{0};

/// The flag that marks a bound in `privatizing_version`: the commit may draw a version from this bound on, but has
/// published nothing yet.
inline constexpr word unpublished = memory::locked_bit;

/// Returns the bits of a version that do not order commits under self's algorithm.
[[nodiscard]] inline word below_versions(const descriptor& self) noexcept {
    return (word{1} << self.algorithm->first_version_bit) - 1;
}

/// Announces that self publishes under `version`. Called before others can read what self publishes. If an earlier
/// commit of self has deferred its wait, the announcement of that commit is still there, and serves both commits. The
/// bits below `first_version_bit` contain the transaction's sequence, so two announcements of self differ even if
/// deferred commits draw the same version.
TUTTI_ALWAYS_INLINE void announce_publication(descriptor& self, word version,
                                              int first_version_bit = memory::writer_bits) noexcept {
    if (!self.quiescing.announced && self.privatizing_version.load(std::memory_order_relaxed) != 0) [[unlikely]]
        return;
    self.quiescing.announced = true;
    const word below = (word{1} << first_version_bit) - 1;
    self.privatizing_version.store((version & ~below) | (self.own_sequence & below), std::memory_order_relaxed);
}
/// Makes the announcement visible to readers. Called after announce_publication if no version is drawn. Returns true if
/// readers check for announcements at all.
TUTTI_ALWAYS_INLINE bool make_visible_to_readers(descriptor& self) noexcept {
    base::light_fence();  // partner: heavy_fence in use_plain_memory
    if (!plain_memory_is_used()) [[likely]]
        return false;
    if (!in_quiescence_set(self)) [[unlikely]]
        join_quiescence_set(self);
    return true;
}
/// Announces that self is about to draw a version, which will be at least `bound`.
TUTTI_ALWAYS_INLINE void announce_draw(descriptor& self, word bound) noexcept {
    if (!injected(fault::announce_after_drawing)) announce_publication(self, bound | unpublished);
    if (make_visible_to_readers(self))
        std::atomic_thread_fence(std::memory_order_seq_cst);  // partner: version_clock::sample
}
/// Withdraws the announcement, because the commit has failed or need not wait. The announcement of an earlier commit
/// with a deferred wait remains.
inline void retract_announcement(descriptor& self) noexcept {
    if (std::exchange(self.quiescing.announced, false)) self.privatizing_version.store(0, std::memory_order_release);
}

/// Ends the publication of a commit whose transaction is over (its state is idle). Waits by sleeping, after a short
/// spin.
void quiesce(descriptor& self) noexcept;

/// Does the deferred waits of self and of its open-nested descriptors, after an attempt that is over and has released
/// its abstract locks. The waits stay deferred while a transaction around self runs.
void run_deferred_quiescence(descriptor& self) noexcept;

/// Announces a result before the end of the transaction whose snapshot the wait will use. await_quiescence ends the
/// announcement.
inline void begin_quiescence_wait(descriptor& self) noexcept {
    // Relaxed, because the following store of the idle state has release order.
    self.pending_quiescence_waits.store(self.pending_quiescence_waits.load(std::memory_order_relaxed) + 1,
                                        std::memory_order_relaxed);
}
void end_quiescence_wait(descriptor& self) noexcept;

/// Returns true if a commit that self has read from, directly or through others, may still quiesce. If so, calls
/// begin_quiescence_wait, and stores in `latest_read` the version up to which to wait. Called before the end of a
/// transaction that only reads.
[[nodiscard]] bool has_read_unquiesced(descriptor& self) noexcept;

/// Waits until no commit that published a version up to `bound` quiesces. Called when a transaction that only read is
/// over. REQUIRES: self has called begin_quiescence_wait before that transaction ended.
void await_quiescence(descriptor& self, word bound) noexcept;

/// Waits until no commit quiesces, after a load outside of all transactions, which has no snapshot.
void await_all_quiescence(descriptor& self) noexcept;

/// Waits until no context announces a publication or waits for quiescence. Returns false if this takes longer than
/// `until`. REQUIRES: no transaction runs, self is idle.
[[nodiscard]] bool await_no_quiescence(descriptor& self, base::deadline until) noexcept;
/// Resets all results and all snapshots of all contexts. REQUIRES: no transaction runs or begins, and
/// await_no_quiescence has returned true since the last transaction ended.
void reset_quiescence_results() noexcept;

}  // namespace tutti::core
