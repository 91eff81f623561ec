// Safe privatization of plain memory.
//
// A commit may make memory unreachable for others, and its caller may then touch it directly. Transactions that began
// earlier may still read it under their old snapshot, or be storing to it. So an update commit waits for them, but
// only for those that use plain memory at all:
//
//   a transaction, before its first plain access:   plain = 1 (seq_cst exchange); refresh the snapshot, or abort
//   a commit:                                        take orecs, or the one lock (seq_cst read-modify-writes);
//                                                    publish; wait for every running transaction with plain == 1
//
// Either the commit sees the flag and waits; or the exchange comes after the commit took its last orec, and the refresh
// finds that taken or published: then the transaction either has read nothing that the commit changed (and finds the
// memory unreachable, like any transaction that starts later) or aborts before it touches the memory.
//
// A transaction need not end for that. It is enough that it refreshes its snapshot: then it has come through the second
// case. So a commit that has waited for a while asks for it:
//
//   the commit:             asked += 1 (seq_cst); closes the other's bounds; waits for its end, or `answered`
//   the other, in a barrier: reads `asked` (acquire); refreshes, or aborts; answered = what it has read (release)
//
// The request came after the commit had published, so the refresh finds every read of the other's that the commit has
// overwritten; and of a link that the commit has cut the other has read what it was. What it has written in place is
// under orecs of its own, which it has reached by reads that are current. Strict, irrevocable
// and unlogged transactions and attempts in hardware do not answer: the commit waits for their end. One that misses the
// closing, because it opens its bounds at that instant, answers at its next barrier that is not inlined, or ends.
//
// A commit looks at the members of the set in quiescence_set.hpp, which a transaction enters before its exchange. One
// that the commit's walk misses, because it enters later, does its exchange later still; and its refresh finds what the
// commit has taken or published, as above.
//
// A process that never uses plain memory never waits: `attention_plain` is raised, once, by its first plain access.
// Two commits cannot wait for each other: the wait comes when the commit's own transaction is over. Nor does one wait
// that runs while its context holds something that those it waits for may be waiting for: an open nested one, or an
// undo action, whose transaction keeps its abstract locks until all undo actions have run. It owes the wait, and its
// number stays up, until the context has given that back. It owes the wait for what it read likewise. A context waits
// as a reader only after it has ended every publication of its own, or it would wait for itself.
//
// What one commit has made private may be handed over: a reader of what that commit published, in a block or outside
// of one, may touch the memory directly at once, while the commit still waits. So a reader waits as well:
//
//   a commit:                                   privatizing = its version; publish; wait as above; privatizing = 0
//   what read and did not publish, when it ends: wait for every version that is up, up to the latest that it has read
//
// The commit enters the set before that, so the reader, which has acquired an orec that the commit released in
// publishing, finds the version, or that it is down.
// A version beyond all that it has read is of a commit that has handed nothing over to it, directly or through others:
// a commit that has read what another one published has a later version than that. An update waits for itself, and that
// covers what was handed to it.
//
// The reader asks its log what it has read. An orec in it that is locked now, or has a version beyond the snapshot, was
// overwritten since and no longer tells; and the log does not tell what a nested block read under an orec of its own
// and then took back. Then the reader has to go by its snapshot's bound.
//
// What a reader has found holds for all readers, because looking is expensive where others commit, and most of what
// they read is older than the latest look:
//
//   a commit, before it draws its version: privatizing = a bound below it, `unpublished`; light fence; is plain memory
//                                          used? then it enters the set, if it has to, and fences
//   a reader with a snapshot that admits the version: has sampled the clock after the draw; looks at privatizing
//
// The clock that the reader sampled had moved since the draw, so the commit's fence came before the sample (both
// seq_cst), and the reader finds the bound, or the version. So after the look no commit quiesces, or will, for a
// version of that snapshot that is older than all bounds, and all versions not waited for, that the reader has found.
// The context that raises attention_plain fences heavily, and enlists every descriptor that has a bound or a version
// up; only then it raises attention_plain_settled. A commit that missed the bit has put its bound up before that fence.
// A reader that misses attention_plain_settled looks at all descriptors, and does not rely on having looked.
//
// What is found settled are versions, so it holds only until the version clock starts anew (algorithms/new_era.hpp). A
// context that will tell what it has found says so before the transaction whose snapshot it goes by ends:
//
//   a context:               settling += 1; state = idle (release); looks and waits; tells; settling -= 1 (release)
//   the one that starts it:  finds all idle (acquire), then `settling` and `privatizing` of all at 0 (acquire); forgets
//
// While no transaction runs, neither word of a context rises for one: so a context that was to tell has told before
// the forgetting. A wait without a snapshot (await_all_quiescence) tells nothing.
//
// No reader waits for a bound: no transaction has read what is unpublished, and its commit may be asking participants
// or running at_commit actions, which may wait for the reader. The version replaces it before the commit releases the
// first orec.
#pragma once

#include <utility>

#include "base/fence.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence_set.hpp"
#include "core/state/attention.hpp"
#include "core/state/descriptor.hpp"
#include "core/state/fault.hpp"

namespace tutti::core {

// A block of the language raises its flag when it begins, before it takes its snapshot, and leaves it raised: a flag
// without a running transaction means nothing.

/// The process uses plain memory from here on. Every descriptor that will set its flag without enter_plain calls it
/// first.
void use_plain_memory() noexcept;

/// First plain access of an attempt. May abort.
void enter_plain(descriptor& d);

/// What the end of a transaction has to do for the memory that is private from then on.
enum class privacy : std::uint8_t {
    none,
    made,     ///< it published: quiesce
    received  ///< it only read: await_quiescence
};

/// Whether transactions of the process use plain memory. Relaxed: see attention.hpp; and a reader of what was published
/// after the bit went up finds it up, because the context that raised it fenced heavily before it looked at anything.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool plain_memory_is_used() noexcept {
    return (attention.load(std::memory_order_relaxed) & attention_plain) != 0;
}

/// No commit that published a version up to it quiesces any more: what the looks of all readers have found.
alignas(128) inline constinit detail::shared<word> settled_up_to{0};

/// In `privatizing`: a version from here on may come, but nothing is published yet.
inline constexpr word unpublished = memory::locked_bit;

/// The bits of a version that do not order commits under self's algorithm.
[[nodiscard]] inline word below_versions(const descriptor& self) noexcept {
    return (word{1} << self.algorithm->first_version_bit) - 1;
}

/// Before others can read what self publishes under `version`. One that is up already is owed, and serves for both.
/// The bits below `first_version_bit` hold the transaction's sequence: two announcements of self differ even if
/// deferred commits draw the same version.
TUTTI_ALWAYS_INLINE void announce_publication(descriptor& self, word version,
                                              int first_version_bit = memory::writer_bits) noexcept {
    if (!self.quiescing.announced && self.privatizing.load(std::memory_order_relaxed) != 0) [[unlikely]]
        return;
    self.quiescing.announced = true;
    const word below = (word{1} << first_version_bit) - 1;
    self.privatizing.store((version & ~below) | (self.own_sequence & below), std::memory_order_relaxed);
}
/// After that, where no version is drawn: readers find it from here on. True: they look for it at all.
TUTTI_ALWAYS_INLINE bool come_into_sight(descriptor& self) noexcept {
    base::light_fence();  // partner: use_plain_memory's
    if (!plain_memory_is_used()) [[likely]]
        return false;
    if (!is_enlisted(self)) [[unlikely]]
        enlist(self);
    return true;
}
/// Before self draws a version, which will be at least `bound`.
TUTTI_ALWAYS_INLINE void announce_draw(descriptor& self, word bound) noexcept {
    if (!broken(fault::announce_after_drawing)) announce_publication(self, bound | unpublished);
    if (come_into_sight(self)) std::atomic_thread_fence(std::memory_order_seq_cst);  // partner: version_clock::sample
}
/// For a commit that failed, or that owes nothing. What self owes for an earlier one stays up.
inline void retract_announcement(descriptor& self) noexcept {
    if (std::exchange(self.quiescing.announced, false)) self.privatizing.store(0, std::memory_order_release);
}

/// After a commit whose transaction is over (its state is idle). Ends the publication. Sleeps, never spins for long.
void quiesce(descriptor& self) noexcept;

/// After an attempt that is over and has released its abstract locks: waits for what self and the descriptors inside
/// it owe, unless what is around self is still in the way.
void pay_debts(descriptor& self) noexcept;

/// Before the end of the transaction whose snapshot a wait will go by; await_quiescence ends it.
inline void begin_settling(descriptor& self) noexcept {
    // Relaxed: the store of the idle state that follows releases it.
    self.settling.store(self.settling.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
void end_settling(descriptor& self) noexcept;

/// Before the end of a transaction that only reads: whether a commit that it has read from, directly or through others,
/// may still quiesce. Then begins settling, and leaves in `latest_read` up to which version.
[[nodiscard]] bool has_read_unsettled(descriptor& self) noexcept;

/// After a transaction that only read and is over: waits until no commit quiesces that published a version up to
/// `bound`. REQUIRES: self has begun settling before that transaction ended.
void await_quiescence(descriptor& self, word bound) noexcept;

/// After a load outside of all transactions, which has no snapshot.
void await_all_quiescence(descriptor& self) noexcept;

/// Waits until no context announces a publication, owes one, or settles. False: one still does at `until`. REQUIRES: no
/// transaction runs, self is idle.
[[nodiscard]] bool await_settlement(descriptor& self, base::deadline until) noexcept;
/// All contexts forget what they have found settled, and the snapshots that they had. REQUIRES: no transaction runs or
/// begins, and await_settlement has returned true since.
void forget_what_is_settled() noexcept;

}  // namespace tutti::core
