// norec: no ownership records. All commits share one sequence lock. Reads are logged with their values, and compared
// again whenever another transaction has committed. Dalessandro, Spear, Scott: "NOrec: Streamlining STM by Abolishing
// Ownership Orecs", PPoPP 2010.
//
// Opacity: a read is accepted only while the sequence has the value at which all earlier reads were last found equal.
// So all reads of an attempt are valid at that one instant. A commit takes the lock only while the sequence still has
// that value.
//
// The sequence counts commits; the lowest bit says whether the lock is held:
//
//   63 zero | 62 … 1 count | 0 held
//
// 62 bits of count last for 1,461 years at 100 million commits a second.
//
// A second word names the holder, so that a waiter can wait for the holder's transaction:
//
//   holder:  takes the lock by a compare-and-swap; holder = its number + 1; …; holder = 0; sequence = not held
//   waiter:  loads a held sequence (acquire); loads the holder; waits until another holds the lock, or this one is over
//
// The waiter's load of the sequence reads from the compare-and-swap, which has acquired the 0 that the previous holder
// stored. So the waiter cannot find the number of an earlier holder, and a number that it finds stays until that
// context releases the lock.
//
// Without orecs a visible reader cannot mark its reads: it is visible as a whole. A commit that has taken the lock
// checks for visible readers and for an irrevocable transaction. If it finds any, it releases the lock and resolves the
// conflicts.
//   committer: compare-and-swap on the sequence (seq_cst); load the occupants (seq_cst)
//   reader:    takes its slot, stores its state (both seq_cst); loads the sequence (seq_cst) and revalidates
// Of the committer and the reader, at least one finds the other: a commit that missed the reader had taken the lock
// before the reader loaded the sequence. Then the reader's revalidation waits for that commit.
//
// The same code is the software half of the hybrids (hybrid.hpp). Their hardware commits take no lock, and count
// themselves; `Beside` returns their number. In the hybrids, "the sequence" above means the sum `now()` of the sequence
// and this number. Neither of the two ever decreases, so equal sums have equal parts. And the two loads of the parts
// stand for one instant: if both parts are those of the snapshot, both had these values when the first part was loaded.
//
// The commit of an open-nested block also conflicts with the transactions around it. But the block runs inside the
// frames of these transactions, so the commit can neither wait for them nor kill them. What the commit has to respect
// depends on the promise of their mode:
//   visible       The transaction promises to start over rarely, but still validates its reads. The commit moves the
//                 sequence. So the outer transaction compares its values at its next read, at the end of a checkpoint
//                 or at its commit. The outer transaction starts over if the values have changed, as an optimistic
//                 transaction does. So the commit ignores a visible outer transaction.
//   irrevocable   The transaction promises never to start over. It has logged all its reads, and their values are
//                 still in memory, because no other transaction commits beside it. Its log does not change while it
//                 runs the block. So the commit compares its own new values with that log. If a value differs, this is
//                 a usage error, as in algorithms that mark orecs. Otherwise every later comparison finds the logged
//                 values, so the commit ignores an irrevocable outer transaction, too.
#pragma once

#include <algorithm>

#include "algorithms/redo.hpp"
#include "base/scheduling.hpp"
#include "core/conflict/conflict.hpp"
#include "core/conflict/kill.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::algorithms {

/// The hybrid without hardware: no transaction runs in hardware.
struct software_alone {
    static constexpr bool has_hardware = false;
    static word commits() noexcept { return 0; }
};

template <class Beside>
struct norec_beside {
    /// Reads check the sequence only after they have read the memory, which a new owner may have unmapped before the
    /// read.
    static constexpr bool privatizes_by_waiting = true;
    static constexpr bool in_place = false;
    static constexpr bool one_at_a_time = false;
    static constexpr int first_version_bit = 1;

    static void begin(descriptor& d) noexcept {
        d.algorithm_data.values.clear();
        d.inlined = false;
        d.close_bounds();
        d.snapshot_bound = stable(d);
    }

    template <class Location>
    static word read(descriptor& d, const Location& location) {
        return redo::read_indexed(d, location, [&] { return read_shared(d, location); });
    }

    template <class Location>
    static void write(descriptor& d, const Location& location, word value) {
        redo::write_indexed(d, location, value);
    }

    static abort_cause prepare(descriptor& d) {
        doomed_readers doomed;
        for (;;) {
            while (!try_lock(d)) {
                if (!revalidate(d)) return abort_cause::validation;
            }
            descriptor* const other = conflicting_occupant(d, doomed);
            if (other == nullptr) return abort_cause::none;
            const word state = other->state.load(std::memory_order_acquire);
            release_lock(d, 0);  // nothing was stored, so the sequence may return to the same value
            // A transaction that sleeps until d releases the sequence must not continue to sleep while d waits for
            // another transaction.
            d.set_status(d.mode);
            core::wake_sleepers(d);
            core::resolve_conflict(d, *other, state, abort_cause::conflict_visible_read);
            doomed.note(*other, state);
            if (d.is_irrevocable()) continue;
            d.set_status(memory::status::preparing);
            base::light_fence();  // partner: heavy_fence in kill
            if (d.kill_requested()) return abort_cause::killed;
        }
    }

    static void publish(descriptor& d) noexcept {
        // No other snapshot has this version while d holds the lock.
        core::announce_publication(d, d.snapshot_bound + one_commit, first_version_bit);
        core::make_visible_to_readers(d);
        if (injected(fault::release_before_publish)) release_lock(d, one_commit);
        redo::store_values(d);
        if (d.algorithm_data.holds_lock) release_lock(d, one_commit);
        d.algorithm_data.index.clear();
    }

    static void end(descriptor&) noexcept {}

    static void roll_back(descriptor& d) noexcept {
        if (d.algorithm_data.holds_lock) release_lock(d, 0);
        d.writes.clear();
        d.overwritten.clear();
        d.algorithm_data.index.clear();
    }

    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        d.algorithm_data.index.drop(d.writes, mark.writes);
        redo::roll_back_to_savepoint(d, mark, [](const memory::write_entry&) {});
    }

    static void draw_again(descriptor&) noexcept {}  // the sequence moves when the lock is released
    static bool unchanged(descriptor& d) { return snapshot_is_current(d) || (d.logging && revalidate(d)); }
    static bool become(descriptor& d, memory::status) { return d.logging && (snapshot_is_current(d) || revalidate(d)); }
    static void refresh(descriptor& d) {
        if (snapshot_is_current(d)) return;
        if (!d.logging) core::attempt_abort(d, abort_cause::read_only_overtaken);
        if (!revalidate(d)) roll_back_to_valid(d);
        core::follow_snapshot(d);
    }

    static word load_outside(descriptor& d, const detail::cell& cell) noexcept {
        for (;;) {
            const word before = stable(d);
            const word value = cell.value.load(std::memory_order_acquire);
            if (now(std::memory_order_relaxed) == before) return value;
        }
    }

    // --- for hybrid.hpp

    static constexpr word held = 1;
    static constexpr word one_commit = word{1} << first_version_bit;

    [[nodiscard]] static const memory::orec& sequence() noexcept { return lock_.sequence; }
    /// Returns the snapshot bound of an attempt that sees all commits until now. While a commit holds the lock, the
    /// value is not a valid bound. `order` is the memory order of the load of the sequence.
    [[nodiscard]] static word now(std::memory_order order) noexcept {
        const word own = lock_.sequence.load(order);
        return own + Beside::commits();
    }
    /// Waits until no commit writes back, and returns the sequence.
    static word stable(descriptor& d) noexcept {
        for (;;) {
            // seq_cst: the reader's half of the protocol above.
            const word seen = lock_.sequence.load(std::memory_order_seq_cst);
            if ((seen & held) == 0) return seen + Beside::commits();
            if (core::spin_until_changed(lock_.sequence, seen)) continue;
            // Acquire: partner is the release in `try_lock`.
            const word number = lock_.holder.load(std::memory_order_acquire);
            if (number == 0) {
                // The thread that took the lock was switched away before it stored its number, so it needs a processor.
                base::short_sleep();
                continue;
            }
            descriptor& other = descriptor::of(memory::status_record_of(static_cast<std::uint32_t>(number - 1)));
            // If this state does not belong to the transaction that had the lock, that transaction has ended, and the
            // wait ends, too.
            core::wait_for(d, other, other.state.load(std::memory_order_acquire), lock_.holder, number);
        }
    }

private:
    using fault = core::fault;
    static bool injected(fault f) noexcept { return core::injected(f); }

    /// Visible readers that were asked to abort and will do so. The commit ignores them when it checks the slots again.
    class doomed_readers {
    public:
        void note(const descriptor& d, word state) noexcept { known_[count_++ % core::slot_count] = {&d, state}; }
        [[nodiscard]] bool contains(const descriptor& d) const noexcept {
            for (const auto& k : known_) {
                if (k.who == &d && !core::is_over(d, k.state) &&
                    d.kill_request.load(std::memory_order_acquire) == memory::sequence_of(k.state)) {
                    return memory::status_of(d.state.load(std::memory_order_acquire)) != memory::status::preparing;
                }
            }
            return false;
        }

    private:
        struct {
            const descriptor* who = nullptr;
            word state = 0;
        } known_[core::slot_count];
        unsigned count_ = 0;
    };

    template <class Location>
    static word read_shared(descriptor& d, const Location& location) {
        word value = location.read();
        // Both loads are acquire loads, so the value is at least as old as the sequence that is loaded after it.
        while (now(std::memory_order_acquire) != d.snapshot_bound && !injected(fault::single_orec_load)) {
            if (!d.logging) core::attempt_abort(d, abort_cause::read_only_overtaken);
            if (injected(fault::extend_without_validation)) {
                d.snapshot_bound = stable(d);
            } else if (!revalidate(d)) {
                roll_back_to_valid(d);
            }
            core::attempt_abort_if_doomed(d);
            core::follow_snapshot(d);
            value = location.read();
        }
        if (d.logging) d.algorithm_data.values.push(logged(location, value));
        return value;
    }

    template <class Location>
    static core::value_read logged(const Location& location, word value) noexcept {
        return {location.location(), location.size(), value, &location.orec()};
    }

    /// Returns true if the snapshot is current: no commit has taken the lock since all reads had their values. seq_cst:
    /// the reader's half of the protocol above. A commit that has missed the reader holds the lock, or has released it
    /// with another value of the sequence. In refresh, the partner is the flag of core/privatization/quiescence.hpp. In
    /// unchanged, the partner is the commit's load of `commit_flags` (core/waiting/wakeup.cpp).
    static bool snapshot_is_current(const descriptor& d) noexcept {
        return now(std::memory_order_seq_cst) == d.snapshot_bound;
    }

    struct comparison {
        std::size_t first_different;  ///< the number of the first read that differs, or the number of reads
        word sequence;                ///< the sequence at which the earlier reads have their values
    };
    static comparison compare(descriptor& d) noexcept {
        for (;;) {
            const word sequence = stable(d);
            const core::value_read* r = d.algorithm_data.values.begin();
            while (r != d.algorithm_data.values.end() &&
                   (injected(fault::skip_validation) || memory::load_bytes(r->from, r->size) == r->value)) {
                ++r;
            }
            if (now(std::memory_order_acquire) != sequence) continue;
            return {static_cast<std::size_t>(r - d.algorithm_data.values.begin()), sequence};
        }
    }

    /// Moves the snapshot to a sequence at which all reads still have their values. Returns false if no such sequence
    /// exists.
    static bool revalidate(descriptor& d) noexcept {
        const comparison found = compare(d);
        if (found.first_different != d.algorithm_data.values.size()) return false;
        d.snapshot_bound = found.sequence;
        return true;
    }

    /// Rolls back as far as needed, because another transaction has changed values that d read.
    [[noreturn]] static void roll_back_to_valid(descriptor& d) {
        const comparison found = compare(d);
        core::attempt_roll_back_to_valid(d, found.first_different, found.sequence, abort_cause::validation);
    }

    static bool try_lock(descriptor& d) noexcept {
        const word in_hardware = Beside::commits();
        const word own = d.snapshot_bound - in_hardware;
        word expected = own;
        if (!lock_.sequence.compare_exchange(expected, own | held, std::memory_order_seq_cst)) return false;
        d.algorithm_data.holds_lock = true;
        // Release: a waiter that finds the number also finds the earlier actions of the descriptor. Partner: `stable`.
        lock_.holder.store(d.id + 1, std::memory_order_release);
        if constexpr (Beside::has_hardware) {
            // While d holds the lock, no hardware attempt commits (hybrid.hpp, 3). If one has committed since the
            // snapshot, it did so before the lock was taken, and is counted here.
            if (Beside::commits() != in_hardware && !injected(fault::lock_without_recheck)) {
                release_lock(d, 0);
                core::wake_sleepers(d);  // a waiter in `stable` waits for the lock, not for d's end
                return false;
            }
        }
        return true;
    }
    /// Releases the lock. `more` is one_commit if something was published.
    static void release_lock(descriptor& d, word more) noexcept {
        d.algorithm_data.holds_lock = false;
        lock_.holder.store(0, std::memory_order_relaxed);
        const word taken_at = lock_.sequence.load(std::memory_order_relaxed) & ~held;
        lock_.sequence.store(taken_at + more, std::memory_order_release);
    }

    /// Returns an occupant of a slot whose conflict this commit has to resolve first, or null.
    static descriptor* conflicting_occupant(descriptor& d, const doomed_readers& doomed) noexcept {
        for (unsigned slot = 0; slot < core::slot_count; ++slot) {
            if (slot != 0 && injected(fault::ignore_visible_readers)) break;
            descriptor* const other = core::occupant(slot);
            if (other == nullptr || other == &d || doomed.contains(*other)) continue;
            if (core::may_commit_beside(d, *other)) continue;
            // A transaction that has its slot but does not run yet has read nothing. It loads the sequence only after
            // it has stored its state, and will then find the lock.
            if (!memory::is_running(other->state.load(std::memory_order_seq_cst))) continue;
            if (core::is_ancestor(*other, d) && !(other->is_irrevocable() && changes_reads_of(d, *other))) continue;
            return other;
        }
        return nullptr;
    }

    /// Returns true if `ancestor` has read a value that d is about to change. REQUIRES: d holds the lock.
    static bool changes_reads_of(const descriptor& d, const descriptor& ancestor) noexcept {
        return std::any_of(ancestor.algorithm_data.values.begin(), ancestor.algorithm_data.values.end(),
                           [&d](const core::value_read& r) {
                               const memory::plain_location location{r.from, r.size};
                               const std::uint32_t entry = d.algorithm_data.index.find(d.writes, location.address());
                               return entry != memory::no_entry &&
                                      memory::overlay(location, d.writes.begin()[entry]) != r.value;
                           });
    }

    struct alignas(128) sequence_lock {
        memory::orec sequence;
        detail::shared<word> holder{0};  // the number of the descriptor that holds the lock + 1, or 0
    };
    static inline constinit sequence_lock lock_{};
};

struct norec : norec_beside<software_alone> {
    static constexpr std::string_view name = "norec";
    static constexpr std::string_view summary = "one sequence lock, validation by value, no ownership records";
};

}  // namespace tutti::algorithms
