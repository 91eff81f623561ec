// Steps of the protocol that a test may leave out, to prove that the interleaving tests notice.
//
// Only the interleaving build (TUTTI_INTERLEAVE) can be broken; everywhere else `broken` is a constant and the branch
// behind it is gone. Where a step is, the algorithm asks: `if (!broken(fault::skip_validation) && !validate(t)) …`.
#pragma once

#include <cstdint>

namespace tutti::core {

/// One step each. An algorithm that has no such step ignores the fault; tests/interleaving/faults_test.cpp lists which
/// algorithm must be caught with which fault, and by which program.
enum class fault : std::uint8_t {
    none,
    /// Commit does not validate the reads. Caught as write skew and lost update.
    skip_validation,
    /// A snapshot moves forward without validating what was read under the old one. Caught as a zombie.
    extend_without_validation,
    /// Redo log: orecs are released with their new version (or the sequence lock is opened) before the values are
    /// stored. Undo log: an aborted block releases its orecs before the old values are back.
    release_before_publish,
    /// A read accepts the value after one look at the orec. The inlined read has its second look in a public header,
    /// so under this fault both bounds stay zero, which sends every read to the slow path, where it is left out.
    single_orec_load,
    /// `retry` registers for its wake-up and sleeps without looking once more whether a read has changed meanwhile.
    retry_without_recheck,
    /// A waiter that is woken from `retry` wakes no other.
    keep_the_wake_up,
    /// A transaction that releases a slot calls no waiter.
    release_a_slot_quietly,
    /// A commit that may have privatized memory returns without waiting for those that can still see or write it.
    privatize_without_waiting,
    /// A block that read that memory is private returns while the commit that made it private still waits.
    receive_without_waiting,
    /// A commit says only after it has drawn its version that it may hand over private memory.
    announce_after_drawing,
    /// The commit of an undo action waits for others while its transaction holds abstract locks.
    wait_with_abstract_locks,
    /// A sweep of the quiescence set unlinks a member that has begun something meanwhile.
    unlink_without_second_look,
    /// A context that ran open-nested blocks does not wait for what they owe when the outermost one is over.
    forget_what_inner_owes,
    /// What a commit retires is destroyed at once, while transactions still read it.
    reclaim_without_waiting,
    /// A partial roll-back goes to the innermost block, whether or not it is the one that read what has changed.
    rewind_too_little,
    /// A writer takes an orec although visible readers have marked it.
    ignore_visible_readers,
    /// A transaction that becomes serial does not wait for those that run already.
    serial_without_waiting,
    /// A transaction begins although another one is serial.
    begin_beside_a_serial_transaction,
    /// A reader relies on having looked although a commit was about to publish a version of its snapshot.
    overlook_the_unpublished,
    /// A context that becomes the biased owner does not look again at what others have begun.
    bias_without_second_look,
    /// The biased owner does not look whether it has been revoked.
    bias_although_revoked,
};

#if defined(TUTTI_INTERLEAVE)
/// Set by a test while no transaction runs.
inline fault injected_fault = fault::none;
[[nodiscard]] inline bool broken(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool broken(fault) noexcept { return false; }
#endif

}  // namespace tutti::core
