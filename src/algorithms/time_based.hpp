// The code that algorithms with versioned orecs share: snapshots, extension, validation, read marks, and taking orecs.
// Riegel, Felber, Fetzer: "A Lazy Snapshot Algorithm with Eager Validation", DISC 2006; Felber, Fetzer, Riegel:
// "Dynamic Performance Tuning of Word-Based Software Transactional Memory" (TinySTM), PPoPP 2008.
//
// Visible reads (Maldonado et al., 3.2, with as many readers as there are slots): a strict reader sets its slot's bit
// in the orec before it reads. A writer that needs the orec first resolves the conflicts with these readers, and may
// take the orec only if they are doomed. Marks reveal conflicts early; they do not replace validation. Between the
// moment when a reader is doomed and the writer's compare-and-swap, that reader may start over and mark the orec again.
// The writer then removes the mark of an attempt that is not doomed. Only the irrevocable transaction, which cannot be
// doomed, keeps every mark and need not validate.
#pragma once

#include "algorithms/version_clock.hpp"
#include "core/conflict/conflict.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::algorithms::time_based {

using core::fault;
using core::injected;
using memory::orec;
using memory::write_entry;

inline bool is_own_version(const descriptor& d, word version) noexcept {
    return memory::written_by(version, d.own_writer_);
}

TUTTI_ALWAYS_INLINE void begin(descriptor& d) noexcept {
    d.snapshot_bound = version_clock::sample(d);
    d.inlined = !injected(fault::single_orec_load);
    d.set_bounds();
}

inline void begin_snapshot(descriptor& d) {
    if (d.run.reads_plain) core::begin_plain(d);
    if (snapshots::announce(d)) return;
    d.logging = true;
    begin(d);
}

/// Does what `begin` does, but only for an optimistic attempt, whose reads are invisible. So this function need not
/// load the attempt's logging flag and slot. REQUIRES: d.logging == logging, d.slot == 0.
TUTTI_ALWAYS_INLINE void begin_optimistic(descriptor& d, bool logging) noexcept {
    if (injected(fault::single_orec_load)) return begin(d);
    const word bound = version_clock::sample(d);
    d.snapshot_bound = bound;
    d.inlined = true;
    d.logged_bound_.store(logging ? bound + 1 : 0, std::memory_order_relaxed);
    d.unlogged_bound_.store(logging ? 0 : bound + 1, std::memory_order_relaxed);
}

/// Returns true if an orec with the value `seen` may be taken without an extension. Its version belongs to the
/// snapshot, or is d's own version that the clock has not reached: that of the time after the snapshot's time.
TUTTI_ALWAYS_INLINE bool is_current(const descriptor& d, word seen) noexcept {
    return seen <= d.snapshot_bound || seen - (d.snapshot_bound + 1) == d.own_writer_;
}

/// Returns true if `r`, which d has read, is still valid under d.snapshot_bound.
inline bool still_valid(descriptor& d, const orec& r) noexcept {
    const word w = r.load(std::memory_order_acquire);
    if (w <= d.snapshot_bound) [[likely]]
        return true;
    if (memory::is_marked(w))
        return (memory::slots_of_readers(w) & d.slot) != 0 || memory::version_of(w) <= d.snapshot_bound;
    if (d.owns(w)) {
        const write_entry& e = d.writes[memory::entry_of(w)];
        return e.marked || e.version <= d.snapshot_bound || is_own_version(d, e.version);
    }
    return memory::is_version(w) && is_own_version(d, w);
}

/// Returns the first logged read that is not valid, or the end of the log.
TUTTI_NOINLINE inline const orec** first_invalid(descriptor& d) noexcept {
    const orec** r = d.read_begin;
    while (r != d.read_next_ && still_valid(d, **r)) ++r;
    return r;
}
inline bool validate(descriptor& d) noexcept { return first_invalid(d) == d.read_next_; }

/// Returns true if all values that d has read are unchanged. An attempt without a log only checks whether another
/// transaction has committed.
inline bool unchanged(descriptor& d) noexcept { return d.logging ? validate(d) : version_clock::unmoved(d); }

/// Moves the snapshot to the present. If that is impossible, rolls back, and only partially if that suffices. An
/// attempt without a log can move its snapshot only if no other transaction has committed.
inline void refresh(descriptor& d) {
    if (version_clock::unmoved(d)) return;
    if (d.reads_snapshot()) core::attempt_abort(d, abort_cause::mode_switch);  // its snapshot cannot move
    core::need_current_reads(d);
    const word bound = version_clock::sample(d);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // version_clock.hpp, 5
    if (!injected(fault::extend_without_validation) && !d.is_irrevocable()) {
        if (const orec** const r = first_invalid(d); r != d.read_next_) {
            version_clock::forget_sample(d);  // the snapshot stays where it was until the roll-back is complete
            core::attempt_roll_back_to_valid(d, static_cast<std::size_t>(r - d.read_begin), bound,
                                             abort_cause::validation);
        }
    }
    d.snapshot_bound = bound;
    d.set_bounds();
    // Another thread that kills d may have set the bounds to zero between d's check and d's store, which has
    // overwritten that zero. But that thread has stored its kill request before the zero, so d finds the request here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    core::attempt_abort_if_doomed(d);
    core::follow_snapshot(d);
}

/// Extends the snapshot to the version in `seen`, which was loaded from `r`. This version is beyond the snapshot bound,
/// and not d's own. The caller loads `r` again.
TUTTI_NOINLINE inline void extend(descriptor& d, orec& r, word seen) {
    if (!version_clock::advance_to_foreign(d, r, seen)) return;
    if (!d.logging) core::attempt_abort(d, abort_cause::read_only_overtaken);
    refresh(d);
}

/// Reads strictly: marks the orec, then reads. `seen` was just loaded from the orec, and is not locked. Returns true if
/// `value` is valid; returns false if the caller has to load the orec again.
template <class Location>
bool read_marked(descriptor& d, const Location& location, word seen, word& value) {
    orec& r = location.orec();
    const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
    if ((slots & d.slot) == 0) {
        const word version = memory::version_of(seen);
        if (version > d.snapshot_bound && !is_own_version(d, version)) {
            extend(d, r, seen);
            return false;
        }
        d.reserve_read();
        // seq_cst: a later writer finds the mark, and d finds an earlier writer.
        if (!r.compare_exchange(seen, memory::make_marked(version, slots | d.slot), std::memory_order_seq_cst)) {
            return false;
        }
        d.log_read(r);
    }
    value = location.read();
    // If d's mark is still in the orec, no writer has taken the orec, and the value is as old as the mark.
    const word after = r.load(std::memory_order_acquire);
    if (memory::is_marked(after) && (memory::slots_of_readers(after) & d.slot) != 0) [[likely]]
        return true;
    core::attempt_abort_if_doomed(d);
    return false;
}

/// Reads a location that d has not written. `own(locked)` returns the value if d owns the orec.
template <class Location, class Own>
word read(descriptor& d, const Location& location, Own&& own) {
    const orec& r = location.orec();
    for (;;) {
        const word seen = r.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            if (d.owns(seen)) return own(seen);
            if (d.reads_snapshot()) [[unlikely]] {
                word kept = 0;
                if (snapshots::read(d, location, seen, kept)) return kept;
                continue;
            }
            core::resolve_owner_conflict(d, r, seen, abort_cause::conflict_read_locked);
            continue;
        }
        word value = 0;
        if (d.strict()) {
            if (read_marked(d, location, seen, value)) return value;
            continue;
        }
        value = location.read();
        // The same check as in detail::access::read. Marks may change while the version stays the same; then the loop
        // reads again.
        if (!injected(fault::single_orec_load) && r.load(std::memory_order_relaxed) != seen) continue;
        const word version = memory::version_of(seen);
        if (version > d.snapshot_bound) {
            if (!is_own_version(d, version)) {
                if (d.reads_snapshot()) [[unlikely]] {
                    if (snapshots::read(d, location, seen, value)) return value;
                    continue;
                }
                extend(d, location.orec(), seen);
                continue;
            }
            version_clock::note_own_hit(d, location.orec(), seen);
        }
        if (d.logging) d.log_read(r);
        return value;
    }
}

struct taken {
    word version;  ///< the orec's version before it was taken
    bool marked;   ///< the orec carried d's own mark
};

/// Takes `r` for write entry number `entry`. `must_be_current`: values that d may have read under `r` must be current,
/// so the snapshot is extended if needed. REQUIRES: d does not own `r`.
inline taken acquire(descriptor& d, orec& r, std::size_t entry, bool must_be_current) {
    for (;;) {
        word seen = r.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            core::resolve_owner_conflict(d, r, seen, abort_cause::conflict_write_locked);
            continue;
        }
        const word version = memory::version_of(seen);
        const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
        const bool marked = (slots & d.slot) != 0;
        if (must_be_current && !marked && version > d.snapshot_bound && !is_own_version(d, version)) {
            extend(d, r, seen);
            continue;
        }
        const word others = slots & ~d.slot;
        if (others != 0 && !injected(fault::ignore_visible_readers) &&
            !core::resolve_reader_conflicts(d, r, seen, others))
            continue;
        // seq_cst: version_clock.hpp, 1.
        if (r.compare_exchange(seen, d.self_lock | entry, std::memory_order_seq_cst)) return {version, marked};
    }
}

/// Removes the reader's marks.
inline void unmark(descriptor& d) noexcept {
    for (const orec** logged = d.read_begin; logged != d.read_next_; ++logged) {
        auto& r = const_cast<orec&>(**logged);
        word seen = r.load(std::memory_order_relaxed);
        while (memory::is_marked(seen) && (memory::slots_of_readers(seen) & d.slot) != 0) {
            const word rest = memory::slots_of_readers(seen) & ~d.slot;
            const word version = memory::version_of(seen);
            const word without = rest != 0 ? memory::make_marked(version, rest) : version;
            // Release: d's reads precede the actions of a writer that takes the orec afterwards.
            if (r.compare_exchange(seen, without, std::memory_order_release)) break;
        }
    }
}

/// Returns the word that a roll-back stores to release an orec under which memory has not changed.
inline word before(const descriptor& d, const write_entry& e, bool keep_mark) noexcept {
    return e.marked && keep_mark ? memory::make_marked(e.version, d.slot) : e.version;
}

/// Releases what an attempt holds beside orecs.
TUTTI_ALWAYS_INLINE void end(descriptor& d) noexcept {
    if (d.strict()) unmark(d);
    if (d.reads_snapshot()) [[unlikely]]
        snapshots::withdraw(d);
}

/// Switches a running attempt to strict reads by marking all its reads. Returns false if the attempt has to start over.
inline bool become(descriptor& d) {
    if (!d.logging) return false;
    for (const orec** logged = d.read_begin; logged != d.read_next_; ++logged) {
        auto& r = const_cast<orec&>(**logged);
        for (;;) {
            word seen = r.load(std::memory_order_acquire);
            if (d.owns(seen)) {
                // If a nested block's roll-back releases the orec, only the mark protects the read.
                d.writes[memory::entry_of(seen)].marked = true;
                break;
            }
            if (memory::is_locked(seen)) {
                core::resolve_owner_conflict(d, r, seen, abort_cause::conflict_read_locked);
                continue;
            }
            const word version = memory::version_of(seen);
            if (version > d.snapshot_bound && !is_own_version(d, version)) return false;
            const word slots = memory::is_marked(seen) ? memory::slots_of_readers(seen) : 0;
            if ((slots & d.slot) != 0) break;
            if (r.compare_exchange(seen, memory::make_marked(version, slots | d.slot), std::memory_order_seq_cst))
                break;
        }
    }
    d.set_bounds();
    return true;
}

/// Draws the version of this commit and validates. REQUIRES: d holds all its locks.
TUTTI_ALWAYS_INLINE abort_cause decide(descriptor& d) noexcept {
    core::announce_draw(d, d.snapshot_bound + 1);
    const version_clock::drawn drawn = version_clock::draw(d);
    d.algorithm_data.commit_version = drawn.version;
    if (drawn.nobody_committed || d.cannot_be_killed() || injected(fault::skip_validation)) return abort_cause::none;
    return validate(d) ? abort_cause::none : abort_cause::validation;
}

/// Draws the version again after participants have decided. This draw, too, comes after the instant p at which all
/// locks are held, so the proof of version_clock.hpp stays valid. In addition, every snapshot that contains the new
/// version was taken after the decision.
inline void draw_again(descriptor& d) noexcept { d.algorithm_data.commit_version = version_clock::draw(d).version; }

/// Announces the publication, after decide and before the first orec is released.
TUTTI_ALWAYS_INLINE void announce(descriptor& d) noexcept {
    core::announce_publication(d, d.algorithm_data.commit_version);
}

/// Loads a value outside transactions. `InPlace`: the value may belong to a running transaction. Two equal loads of the
/// orec exclude this only for a version that the time had reached before the first load (version_clock.hpp, 8 and 10).
template <bool InPlace>
word load_outside(descriptor& d, const detail::cell& cell) noexcept {
    for (;;) {
        const word reached = InPlace ? version_clock::reached() : memory::no_version;
        const word seen = cell.orec.load(std::memory_order_acquire);
        if (memory::is_locked(seen)) {
            if (!d.running()) core::wait_for_owner(d, cell.orec, seen);
            else if (core::wait_for_owner_after_attempt(d, cell.orec, seen))
                return cell.value.load(std::memory_order_acquire);
            continue;
        }
        if constexpr (InPlace) {
            if (!version_clock::is_recent(reached, memory::version_of(seen)) && !injected(fault::trust_every_version))
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
