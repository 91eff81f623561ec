// An execution: all attempts of one outermost block. What begin, commit and restart share, whatever the algorithm.
#pragma once

#include "core/descriptor.hpp"
#include "core/quiescence.hpp"
#include "core/waiting.hpp"
#include "observe/probes.hpp"

namespace tutti::core {

/// The descriptor is idle from here on; whoever waits for the transaction is woken. `lasting` of its extras are the
/// next transaction's as well.
TUTTI_ALWAYS_INLINE void make_idle(descriptor& d, std::uint32_t lasting = extra_large) noexcept {
    d.frame_ = nullptr;
    d.troubles = trouble_idle;
    d.close_bounds();
    d.extras &= lasting;
    d.set_status(status::idle);
    wake_sleepers(d);
}

/// The end of a commit without extras, so that none lasts.
TUTTI_ALWAYS_INLINE void close_committed(descriptor& d) noexcept {
    TUTTI_PROBE3(commit, d.run.how->name, d.run.attempt, d.id);
    make_idle(d, 0);
}

/// What every attempt begins with, whatever its mode.
inline void reset_attempt(descriptor& d) noexcept {
    d.mode = status::active;
    d.pending = signal::none;
    d.cause = abort_cause::none;
    d.given_back = false;
    d.troubles = 0;
    d.read_next_ = d.read_begin;
    ++d.own_sequence;
}

/// Closes a block whose next attempt will not begin.
void close_unstarted(descriptor& d) noexcept;

/// Begins the next attempt of d.run. Throws deadline_missed or interrupted, and then the block is closed. REQUIRES:
/// d.frame_ is the outermost block; nothing is held.
void start_attempt(descriptor& d);

/// Begins the first attempt of a block that starts in a stricter mode, has a deadline, is counted, or has a policy that
/// listens. Throws for a deadline as begin_timed and start_attempt do.
void start_specially(descriptor& d);

/// The end of an attempt that did not commit: gives back what is left, counts, ends the transaction, compensates.
/// d.run outlives it.
void conclude(descriptor& d, abort_cause cause) noexcept;

/// The same for the last attempt of an execution.
void give_up(descriptor& d, abort_cause cause) noexcept;

/// The end of an execution whose `run` is not as a fresh one has it.
void conclude_execution(descriptor& d) noexcept;

/// The same for one that does not commit, once its last attempt is over.
void abandon_execution(descriptor& d) noexcept;

/// Rolls back an attempt that called retry and waits until it is worth another one.
void wait_in_retry(descriptor& d);

/// The end of a commit with extras, from the moment its writes are published.
void finish_with_extras(descriptor& d, privacy owed);

/// commit failed: rolls back, and leaves the rest to reopen.
void abandon(descriptor& d, abort_cause cause) noexcept;

/// Asks the participants. False: rolled back; leaves by their exception if one of them throws.
bool put_to_the_vote(descriptor& d);

/// status = committed; at_commit handlers and the participants' commits.
void announce_decision(descriptor& d) noexcept;

/// Spins for a random time that grows with the attempts.
void back_off(descriptor& d) noexcept;

[[noreturn]] void refuse_write();
[[noreturn]] void refuse_misaligned();

}  // namespace tutti::core
