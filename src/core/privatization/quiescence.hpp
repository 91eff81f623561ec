// Safe privatization of plain memory.
//
// A commit may make memory unreachable for other transactions, and its caller may then touch that memory directly.
// Transactions that began earlier may still read it under their old snapshots, or store to it. So an update commit
// waits for them, but only for those that use plain memory at all:
//
//   a transaction, before its first plain access:   uses_plain_memory = 1 (seq_cst exchange); refresh the snapshot, or
//                                                    abort
//   a commit:                                        take orecs, or the one lock (seq_cst read-modify-writes);
//                                                    publish; wait for every running transaction with
//                                                    uses_plain_memory == 1
//
// Either the commit sees the flag and waits; or the exchange comes after the commit took its last orec, and the refresh
// finds that orec taken or published. In the second case the transaction may have read nothing that the commit changed:
// it finds the memory unreachable, like any transaction that starts later. Otherwise it aborts before it touches the
// memory.
//
// The wait need not last until the transaction ends. It is enough that the transaction refreshes its snapshot, which
// brings it into the second case. So a commit that has waited for a while asks for a refresh:
//
//   the commit:              replies_requested += 1 (seq_cst); closes the other's bounds; waits for its end, or for
//                            `replies_given`
//   the other, in a barrier: reads `replies_requested` (acquire); refreshes, or aborts; replies_given = the value that
//                            it read (release)
//
// The request comes after the commit has published, so the refresh finds every read of the other transaction that the
// commit has overwritten. The other can reach the private memory only by a link that the commit has cut, so its read of
// the old link is among them. Its writes in place lie under orecs that it owns, which it has reached by reads that are
// current. Strict, irrevocable and unlogged transactions and attempts in hardware do not answer: the commit waits for
// their end. A transaction that opens its bounds just when they are closed misses the closing. It answers at its next
// barrier that is not inlined, or ends.
//
// A commit walks the members of the set in quiescence_set.hpp, which a transaction enters before its exchange. A
// transaction that the walk misses, because it enters later, does its exchange later still. Its refresh then finds the
// orecs that the commit has taken or published, as above.
//
// A process that never uses plain memory never waits: its first plain access raises `flag_plain_memory`, once. Two
// commits cannot wait for each other, because a commit waits only when its own transaction is over. A commit does not
// wait while its context holds something that the awaited transactions may be waiting for. That concerns an open-nested
// commit, and the commit of an undo action, whose transaction keeps its abstract locks until all undo actions have run.
// Such a commit defers its wait, and its announcement stays up until the context has released what it holds. A reader
// defers its wait likewise. A context waits as a reader only after it has ended all its own publications; otherwise it
// would wait for itself.
//
// Private memory may be handed over: a context that reads what the commit published, in a block or outside of one, may
// touch the memory directly while the commit still waits. So readers wait, too:
//
//   a commit:                                   privatizing_version = its version; publish; wait as above;
//                                               privatizing_version = 0
//   a reader that did not publish, at its end:  waits for every version that is up, up to the latest that it has read
//
// The commit enters the set before that. A reader has acquired an orec that the commit released in publishing, so it
// finds the version, or finds that the version is down. A version later than all versions that the reader has read
// belongs to a commit that has handed nothing to it, directly or through other commits. For a commit that reads
// another's publication has a later version than that publication. An update waits for itself, which covers memory that
// was handed to it.
//
// The reader takes the versions that it has read from its log. An orec in the log that is locked now, or has a version
// beyond the snapshot, was overwritten since. It no longer shows the version that was read. Nor does the log show what
// a nested block read under an orec of its own and then rolled back. In both cases the reader uses its snapshot bound
// instead.
//
// A reader shares its result with all readers. A look is expensive while others commit, and most versions that readers
// have read are older than the latest look:
//
//   a commit, before it draws its version: privatizing_version = a bound below it, `unpublished`; light fence; is plain
//                                          memory used? then it enters the set, if it has to, and fences
//   a reader with a snapshot that admits the version: has sampled the clock after the draw; looks at
//                                          privatizing_version
//
// The reader's snapshot admits the version, so its sample shows the clock as moved by the draw. So the commit's fence
// came before the sample (both seq_cst), and the reader finds the bound, or the version. Take a version of that
// snapshot that is older than all bounds that the reader has found, and older than all versions that it has found and
// not waited for. After the look no commit quiesces for that version, now or later. The context that raises
// flag_plain_memory executes a heavy fence, and adds every descriptor that has a bound or a version up to the set. Only
// then it raises flag_plain_memory_fenced. A commit that missed flag_plain_memory has stored its bound before that
// fence. A reader that does not see flag_plain_memory_fenced looks at all descriptors, and records no result.
//
// The results are versions, so they hold only until the version clock starts anew (algorithms/new_era.hpp). A
// context that will store a result announces that before the end of the transaction whose snapshot it uses:
//
//   a context:              `pending_quiescence_waits` += 1; state = idle (release); looks and waits; stores its
//                           result; `pending_quiescence_waits` -= 1 (release)
//   the clock's renewer:    finds all idle (acquire), then `pending_quiescence_waits` and `privatizing_version` of all
//                           at 0 (acquire); resets the results
//
// While no transaction runs, neither word of a context rises for a transaction. So a context that has announced a
// result has stored it before the results are reset. A wait without a snapshot (await_all_quiescence) stores no
// result.
//
// No reader waits for a bound: no transaction has read the unpublished values, and the commit may be asking
// participants or running at_commit actions, which may wait for the reader. The version replaces the bound before the
// commit releases its first orec.
#pragma once

#include <utility>

#include "base/fence.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence_set.hpp"
#include "core/state/commit_flags.hpp"
#include "core/state/descriptor.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {

// A block of the language raises its flag when it begins, before it takes its snapshot, and leaves the flag raised. A
// flag without a running transaction has no meaning.

/// Declares that the process uses plain memory from here on. Every descriptor that will set its flag without
/// enter_plain calls it first.
void use_plain_memory() noexcept;

/// Prepares for the first plain access of an attempt. May abort.
void enter_plain(descriptor& d);

/// The duty of a transaction at its end, for memory that is private from then on.
enum class privatization_role : std::uint8_t {
    none,
    privatizer,  ///< the transaction published: call quiesce
    receiver     ///< the transaction only read: call await_quiescence
};

/// Returns true if transactions of the process use plain memory. Relaxed: see commit_flags.hpp. A reader of values
/// published after the bit went up finds the bit up. The reason: the context that raised it fenced heavily before it
/// looked at anything.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool plain_memory_is_used() noexcept {
    return (commit_flags.load(std::memory_order_relaxed) & flag_plain_memory) != 0;
}

/// A version up to which no commit still quiesces: the combined result of all readers' looks.
alignas(128) inline constinit detail::shared<word> quiesced_up_to{0};

/// The flag in `privatizing_version` for a bound: a version from here on may come, but nothing is published yet.
inline constexpr word unpublished = memory::locked_bit;

/// Returns the bits of a version that do not order commits under self's algorithm.
[[nodiscard]] inline word below_versions(const descriptor& self) noexcept {
    return (word{1} << self.algorithm->first_version_bit) - 1;
}

/// Announces that self publishes under `version`. Called before others can read what self publishes. If an announcement
/// is up already, self has deferred its wait, and the announcement serves for both. The bits below `first_version_bit`
/// hold the transaction's sequence, so two announcements of self differ even if deferred commits draw the same version.
TUTTI_ALWAYS_INLINE void announce_publication(descriptor& self, word version,
                                              int first_version_bit = memory::writer_bits) noexcept {
    if (!self.quiescing.announced && self.privatizing_version.load(std::memory_order_relaxed) != 0) [[unlikely]]
        return;
    self.quiescing.announced = true;
    const word below = (word{1} << first_version_bit) - 1;
    self.privatizing_version.store((version & ~below) | (self.own_sequence & below), std::memory_order_relaxed);
}
/// Makes the announcement visible to readers. Called after announce_publication if no version is drawn. Returns true if
/// readers look for announcements at all.
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
/// Takes the announcement back, for a commit that failed, or that need not wait. The announcement of an earlier commit
/// with a deferred wait stays up.
inline void retract_announcement(descriptor& self) noexcept {
    if (std::exchange(self.quiescing.announced, false)) self.privatizing_version.store(0, std::memory_order_release);
}

/// Ends the publication of a commit whose transaction is over (its state is idle). Sleeps, never spins for long.
void quiesce(descriptor& self) noexcept;

/// Does the deferred waits of self and of the descriptors inside it, after an attempt that is over and has released its
/// abstract locks. The waits stay deferred while a transaction around self runs.
void run_deferred_quiescence(descriptor& self) noexcept;

/// Announces a result, before the end of the transaction whose snapshot the wait will use; await_quiescence ends it.
inline void begin_quiescence_wait(descriptor& self) noexcept {
    // Relaxed: the store of the idle state that follows releases it.
    self.pending_quiescence_waits.store(self.pending_quiescence_waits.load(std::memory_order_relaxed) + 1,
                                        std::memory_order_relaxed);
}
void end_quiescence_wait(descriptor& self) noexcept;

/// Returns true if a commit that self has read from, directly or through others, may still quiesce. Then calls
/// begin_quiescence_wait, and stores in `latest_read` up to which version to wait. Called before the end of a
/// transaction that only reads.
[[nodiscard]] bool has_read_unquiesced(descriptor& self) noexcept;

/// Waits until no commit quiesces that published a version up to `bound`. Called after a transaction that only read and
/// is over. REQUIRES: self has called begin_quiescence_wait before that transaction ended.
void await_quiescence(descriptor& self, word bound) noexcept;

/// Waits until no commit quiesces, after a load outside of all transactions, which has no snapshot.
void await_all_quiescence(descriptor& self) noexcept;

/// Waits until no context announces a publication or waits for quiescence. Returns false if a context still does at
/// `until`. REQUIRES: no transaction runs, self is idle.
[[nodiscard]] bool await_no_quiescence(descriptor& self, base::deadline until) noexcept;
/// Resets all results and all snapshots of all contexts. REQUIRES: no transaction runs or begins, and
/// await_no_quiescence has returned true since.
void reset_quiescence_results() noexcept;

}  // namespace tutti::core
