// What the algorithms with versioned orecs share: snapshots, extension, validation, read marks, and taking orecs.
// Riegel, Felber, Fetzer: "A Lazy Snapshot Algorithm with Eager Validation", DISC 2006; Felber, Fetzer, Riegel:
// "Dynamic Performance Tuning of Word-Based Software Transactional Memory" (TinySTM), PPoPP 2008.
//
// Visible reads (Maldonado et al., 3.2, with as many readers as there are slots): a strict reader sets its slot's bit
// in the orec before it reads. A writer that wants the orec meets the readers first and may take it only from
// doomed ones. Marks make conflicts show early; they do not replace validation: between the doom of a reader and the
// writer's compare-and-swap that reader may have started over and marked the orec again, and then loses the mark of
// an attempt that is not doomed. Only the irrevocable transaction, which cannot be doomed,
// keeps every mark and need not validate.
#pragma once

#include "algorithms/version_clock.hpp"
#include "core/conflict/conflict.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/fault.hpp"

namespace tutti::algorithms::time_based {

using core::broken;
using core::fault;
using memory::orec;
using memory::write_entry;

inline bool mine(const descriptor& d, word version) noexcept { return memory::written_by(version, d.own_writer_); }

TUTTI_ALWAYS_INLINE void begin(descriptor& d) noexcept {
    d.snapshot_bound = version_clock::sample(d);
    d.inlined = !broken(fault::single_orec_load);
    d.set_bounds();
}

/// Whether an orec that reads `seen` may be taken as it is: it holds a version of the snapshot, or one of d's own that
/// the clock has not reached (the one of the time after the snapshot's).
TUTTI_ALWAYS_INLINE bool is_current(const descriptor& d, word seen) noexcept {
    return seen <= d.snapshot_bound || seen - (d.snapshot_bound + 1) == d.own_writer_;
}

/// Whether `r`, which d has read, still is what it was under d.snapshot_bound.
inline bool still_valid(descriptor& d, const orec& r) noexcept {
    const word w = r.load(std::memory_order_acquire);
    if (w <= d.snapshot_bound) [[likely]]
        return true;
    if (memory::is_marked(w))
        return (memory::slots_of_readers(w) & d.slot) != 0 || memory::version_of(w) <= d.snapshot_bound;
    if (d.owns(w)) {
        const write_entry& e = d.writes[memory::entry_of(w)];
        return e.marked || e.version <= d.snapshot_bound || mine(d, e.version);
    }
    return memory::is_version(w) && mine(d, w);
}

/// The first logged read that is not, or the end of the log.
TUTTI_NOINLINE inline const orec** first_invalid(descriptor& d) noexcept {
    const orec** r = d.read_begin;
    while (r != d.read_next_ && still_valid(d, **r)) ++r;
    return r;
}
inline bool validate(descriptor& d) noexcept { return first_invalid(d) == d.read_next_; }

/// Whether all that d has read is as it was. Of what it has not logged it knows only whether anybody has committed.
inline bool unchanged(descriptor& d) noexcept { return d.logging ? validate(d) : version_clock::unmoved(d); }

/// Moves the snapshot to now, or rolls back to where that is possible. Unlogged attempts can only do so if no commit
/// has committed.
inline void refresh(descriptor& d) {
    if (version_clock::unmoved(d)) return;
    core::need_current_reads(d);
    const word bound = version_clock::sample(d);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // version_clock.hpp, 5
    if (!broken(fault::extend_without_validation) && !d.is_irrevocable()) {
        if (const orec** const r = first_invalid(d); r != d.read_next_) {
            version_clock::forget_sample(d);  // the snapshot stays where it was until the roll-back has come through
            core::attempt_rewind(d, static_cast<std::size_t>(r - d.read_begin), bound, abort_cause::validation);
        }
    }
    d.snapshot_bound = bound;
    d.set_bounds();
    // A killer may have closed the bounds between our look and our store; it raised its request before.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    core::attempt_abort_if_doomed(d);
    core::follow_snapshot(d);
}

/// The version in `seen`, which was loaded from `r`, is beyond the snapshot bound and another's. The caller looks at
/// `r` again.
TUTTI_NOINLINE inline void extend(descriptor& d, orec& r, word seen) {
    if (!version_clock::advance_to_met(d, r, seen)) return;
    if (!d.logging) core::attempt_abort(d, abort_cause::read_only_overtaken);
    refresh(d);
}

/// A strict read: marks the orec, then reads. `seen` was just loaded from it, and is not locked.
/// True: `value` is good. False: look again.
template <class Place>
bool read_marked(descriptor& d, const Place& place, word seen, word& value) {
    orec& r = place.orec();
    const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
    if ((slots & d.slot) == 0) {
        const word version = memory::version_of(seen);
        if (version > d.snapshot_bound && !mine(d, version)) {
            extend(d, r, seen);
            return false;
        }
        d.reserve_read();
        // seq_cst: a writer that comes later finds the mark; one that came before is found by us.
        if (!r.compare_exchange(seen, memory::make_marked(version, slots | d.slot), std::memory_order_seq_cst)) {
            return false;
        }
        d.log_read(r);
    }
    value = place.read();
    // Still marked: no writer has taken the orec, so the value is as old as the mark.
    const word after = r.load(std::memory_order_acquire);
    if (memory::is_marked(after) && (memory::slots_of_readers(after) & d.slot) != 0) [[likely]]
        return true;
    core::attempt_abort_if_doomed(d);
    return false;
}

/// Reads a place that d has not written. `own(locked)` answers if its orec turns out to be d's.
template <class Place, class Own>
word read(descriptor& d, const Place& place, Own&& own) {
    const orec& r = place.orec();
    for (;;) {
        const word seen = r.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            if (d.owns(seen)) return own(seen);
            core::meet_owner(d, r, seen, abort_cause::conflict_read_locked);
            continue;
        }
        word value = 0;
        if (d.strict()) {
            if (read_marked(d, place, seen, value)) return value;
            continue;
        }
        value = place.read();
        // As in detail::access::read. Marks may come and go without the version moving; then just look again.
        if (!broken(fault::single_orec_load) && r.load(std::memory_order_relaxed) != seen) continue;
        const word version = memory::version_of(seen);
        if (version > d.snapshot_bound) {
            if (!mine(d, version)) {
                extend(d, place.orec(), seen);
                continue;
            }
            version_clock::note_own_hit(d, place.orec(), seen);
        }
        if (d.logging) d.log_read(r);
        return value;
    }
}

struct taken {
    word version;  ///< of the orec before
    bool marked;   ///< it carried d's own mark
};

/// Takes `r` for write entry number `entry`. REQUIRES: d does not own it. `must_be_current`: what d may have read of
/// it must be current, else the snapshot is extended.
inline taken acquire(descriptor& d, orec& r, std::size_t entry, bool must_be_current) {
    for (;;) {
        word seen = r.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            core::meet_owner(d, r, seen, abort_cause::conflict_write_locked);
            continue;
        }
        const word version = memory::version_of(seen);
        const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
        const bool marked = (slots & d.slot) != 0;
        if (must_be_current && !marked && version > d.snapshot_bound && !mine(d, version)) {
            extend(d, r, seen);
            continue;
        }
        const word others = slots & ~d.slot;
        if (others != 0 && !broken(fault::ignore_visible_readers) && !core::meet_readers(d, r, seen, others)) continue;
        // seq_cst: version_clock.hpp, 1.
        if (r.compare_exchange(seen, d.self_lock | entry, std::memory_order_seq_cst)) return {version, marked};
    }
}

/// Takes the reader's marks away.
inline void unmark(descriptor& d) noexcept {
    for (const orec** logged = d.read_begin; logged != d.read_next_; ++logged) {
        auto& r = const_cast<orec&>(**logged);
        word seen = r.load(std::memory_order_relaxed);
        while (memory::is_marked(seen) && (memory::slots_of_readers(seen) & d.slot) != 0) {
            const word rest = memory::slots_of_readers(seen) & ~d.slot;
            const word version = memory::version_of(seen);
            const word without = rest != 0 ? memory::make_marked(version, rest) : version;
            // Release: a writer that takes the orec now knows that we have read it.
            if (r.compare_exchange(seen, without, std::memory_order_release)) break;
        }
    }
}

/// What an orec is released to by a roll-back that left its value alone.
inline word before(const descriptor& d, const write_entry& e, bool keep_mark) noexcept {
    return e.marked && keep_mark ? memory::make_marked(e.version, d.slot) : e.version;
}

/// Switches a running attempt to strict reads by marking all it has read. False: it has to start over.
inline bool become(descriptor& d) {
    if (!d.logging) return false;
    for (const orec** logged = d.read_begin; logged != d.read_next_; ++logged) {
        auto& r = const_cast<orec&>(**logged);
        for (;;) {
            word seen = r.load(std::memory_order_acquire);
            if (d.owns(seen)) {
                // Should a nested block's roll-back give the orec back, the mark is what is left to protect the read.
                d.writes[memory::entry_of(seen)].marked = true;
                break;
            }
            if (memory::is_locked(seen)) {
                core::meet_owner(d, r, seen, abort_cause::conflict_read_locked);
                continue;
            }
            const word version = memory::version_of(seen);
            if (version > d.snapshot_bound && !mine(d, version)) return false;
            const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
            if ((slots & d.slot) != 0) break;
            if (r.compare_exchange(seen, memory::make_marked(version, slots | d.slot), std::memory_order_seq_cst))
                break;
        }
    }
    d.set_bounds();
    return true;
}

/// After every lock is held: draws the version of this commit and validates.
TUTTI_ALWAYS_INLINE abort_cause decide(descriptor& d) noexcept {
    core::announce_draw(d, d.snapshot_bound + 1);
    const version_clock::drawn drawn = version_clock::draw(d);
    d.kept.commit_version = drawn.version;
    if (drawn.nobody_committed || d.prevails() || broken(fault::skip_validation)) return abort_cause::none;
    return validate(d) ? abort_cause::none : abort_cause::validation;
}

/// After decide, when participants have decided. Still after the instant p, at which all locks are held, so nothing in
/// the proof of version_clock.hpp changes; but a snapshot that holds this version was taken after the decision.
inline void draw_again(descriptor& d) noexcept { d.kept.commit_version = version_clock::draw(d).version; }

/// After decide, before the first orec is released.
TUTTI_ALWAYS_INLINE void announce(descriptor& d) noexcept { core::announce_publication(d, d.kept.commit_version); }

/// `InPlace`: the value may be one of a transaction that runs. Two equal looks at the orec rule that out only if they
/// show a version that the time had reached before the first (version_clock.hpp, 8 and 10).
template <bool InPlace>
word load_outside(descriptor& d, const detail::cell& cell) noexcept {
    for (;;) {
        const word reached = InPlace ? version_clock::reached() : memory::no_version;
        const word seen = cell.orec.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            if (!d.running()) core::wait_out(d, cell.orec, seen);
            else if (core::wait_out_detached(d, cell.orec, seen)) return cell.value.load(std::memory_order_acquire);
            continue;
        }
        if constexpr (InPlace) {
            if (!version_clock::is_recent(reached, memory::version_of(seen)) && !broken(fault::trust_every_version))
                [[unlikely]] {
                version_clock::make_recent(const_cast<orec&>(cell.orec), seen);
                continue;
            }
        }
        const word value = cell.value.load(std::memory_order_acquire);
        if (cell.orec.load(std::memory_order_relaxed) == seen) return value;
    }
}

}  // namespace tutti::algorithms::time_based
