// Safe privatization of plain memory.
//
// A commit may make memory unreachable for others, and its caller may then touch it directly. Transactions that began
// earlier may still read it under their old snapshot, or be storing to it. So an update commit waits for them, but
// only for those that use plain memory at all:
//
//   a transaction, before its first plain access:   plain = 1 (seq_cst exchange); refresh the snapshot, or abort
//   a commit, after publishing:                      seq_cst fence; wait for every running transaction with plain == 1
//
// Either the commit sees the flag and waits; or the exchange comes after the commit's fence, and the refresh sees what
// it published: then the transaction either has read nothing that the commit changed (and finds the memory unreachable,
// as anybody who starts later) or aborts before it touches the memory.
//
// A process that never uses plain memory never fences: `attention_plain` is raised, once, by its first plain access.
// Two commits cannot wait for each other: the wait comes when the commit's own transaction is over. An open nested one
// cannot wait, because those that it waited for may be waiting for what the block around it owns: it owes the wait, and
// its number stays up, until the outermost block is over.
//
// What one commit has made private may be handed over: whoever reads what that commit published, in a block or alone,
// may touch the memory directly at once, while the commit still waits. So a reader waits as well:
//
//   a commit:                                   privatizing = a number; publish; wait as above; privatizing = 0
//   what read and did not publish, when it ends: wait for every number that is up
//
// The reader has acquired a record that the commit released in publishing, so it finds the number, or that it is down. An
// update waits for itself, and that covers what was handed to it.
#pragma once

#include "core/attention.hpp"
#include "core/descriptor.hpp"

namespace tutti::core {

// A block of the language raises its flag when it begins, before it takes its snapshot, and leaves it raised: a flag
// without a running transaction means nothing.

/// The process uses plain memory from here on. Every descriptor that will set its flag without enter_plain calls it first.
void use_plain_memory() noexcept;

/// First plain access of an attempt. May abort.
void enter_plain(descriptor& d);

/// What the end of a transaction has to do for the memory that is private from then on.
enum class privacy : std::uint8_t {
    none,
    made,     ///< it published: quiesce
    received  ///< it only read: await_quiescence
};

/// Whether transactions of the process use plain memory. Relaxed: see attention.hpp; and who has read what was published
/// after the bit went up finds it up, because whoever raised it fenced heavily before it looked at anything.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool plain_memory_is_used() noexcept {
    return (attention.load(std::memory_order_relaxed) & attention_plain) != 0;
}

/// Before self publishes. A number that is up already is one that is owed, and stands for both.
TUTTI_ALWAYS_INLINE void announce_publication(descriptor& self) noexcept {
    if (self.privatizing.load(std::memory_order_relaxed) == 0) [[likely]]
        self.privatizing.store(self.own_sequence, std::memory_order_relaxed);
}
/// When what it published is as private as it will be. Whoever waits for that is woken at the end of the transaction.
TUTTI_ALWAYS_INLINE void end_publication(descriptor& self) noexcept {
    self.privatizing.store(0, std::memory_order_release);
}

/// After a commit whose transaction is over (its state is idle). Ends the publication. Sleeps, never spins for long.
void quiesce(descriptor& self) noexcept;

/// After an attempt that is over: pays what open nested blocks inside it owe.
void pay_for_inner(descriptor& self) noexcept;

/// After something that only read and is over: waits until nobody quiesces who had published before.
void await_quiescence(descriptor& self) noexcept;

}  // namespace tutti::core
