// The clock that versions are drawn from: TL2's global counter (Dice, Shalev, Shavit, DISC 2006) that stops counting
// while no snapshot needs it to.
//
// One word: time, and in bit 0 the mode.
//   counting   a commit moves the time by one. If it had not moved since the snapshot was taken, no other committed and
//              the commit need not validate. A descriptor that finds the clock moved by others in a quarter of a window
//              of its commits switches to
//   deferred   a commit uses time + 1 without storing it, so that private writers share no cache line; the time moves
//              only when a transaction meets a version beyond it. After a number of own commits (128, and twice as many
//              with each time that it has switched, up to 65,536) a descriptor tries counting again; and at once, if it
//              meets many versions of others: then no descriptor defers for a while, which doubles each time. The
//              switch back to counting moves the time.
//
// Why snapshots are opaque. Let p be the instant at which a committing transaction holds all its locks, just before it
// draws its version; order committed writers by p. A snapshot's bound is sampled at s.
//  1. The draw comes after p: locks are taken by seq_cst read-modify-writes, and the draw is a seq_cst access.
//  2. A version within a bound sampled at s has p < s: it is at least one more than the clock showed at its draw, so
//     the clock was moved after the draw for the bound to reach it.
//  3. A read accepted at t > s returns the state at s. Its orec was unlocked at t with a version whose p < s. Any
//     other writer of that orec with p < s held the lock at p: it was overwritten by the one we see, or its lock
//     would be seen. Writers with p > s leave a version above the bound.
//  4. Versions above the bound that the reader's own descriptor wrote are accepted too: only it writes its number, and
//     it is inside this transaction, so p < s and no other has overwritten it. A descriptor passes to another context
//     only between transactions.
//  5. An extension samples first and validates after: a writer that drew before the new sample already held its locks,
//     and validation sees them (the fence in `refresh`, in time_based.hpp, orders the two for the abstract machine).
//  6. A commit validates after its p, so all its reads are current at p. Writers serialize at p, readers at s.
//  7. Validation may be skipped if the clock word is the one sampled and counts: no commit drew in counting mode since,
//     and one that drew in deferred mode did so before the switch to counting, which moved the time,
//     thus before s, holding its locks. So the word never comes back to what it was, though the switch to deferred
//     mode leaves the time alone.
//  8. Two commits may draw the same version in deferred mode, and two of one writer may leave it in the same orec.
//     Neither is within any bound until the time moves, and after that no draw repeats the value: the commit that drew
//     it had its lock before the time moved (1). So an orec never returns to a version that the time had reached when
//     a reader looked, except by a roll-back that leaves the value as it was.
#pragma once

#include <algorithm>
#include <utility>

#include "base/panic.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::algorithms {

using core::clock_view;
using core::descriptor;
using detail::word;

class version_clock {
public:
    /// After so many commits a descriptor looks how many of them found the clock moved by another.
    static constexpr std::uint32_t window = 64;

    /// From this time on a descriptor that looks at the time ends the process. What is left of the times lasts until
    /// every descriptor has looked: 2^20 descriptors look once in 2^16 of their commits at least.
    static constexpr word end_of_time = memory::last_time - (word{1} << 40);

    /// The bound of a snapshot taken now.
    TUTTI_ALWAYS_INLINE static word sample(descriptor& d) noexcept {
        const word c = clock_.now.load(std::memory_order_seq_cst);
        d.kept.clock.sampled = c;
        return memory::make_limit(c >> 1);
    }

    /// The largest version that the time has reached, for a reader without a snapshot.
    static word reached() noexcept { return memory::make_limit(clock_.now.load(std::memory_order_seq_cst) >> 1); }

    struct drawn {
        word version;
        bool nobody_committed;  ///< since the snapshot was sampled; see 7
    };
    /// REQUIRES: d holds every lock that it will hold.
    TUTTI_ALWAYS_INLINE static drawn draw(descriptor& d) noexcept {
        word c = clock_.now.load(std::memory_order_seq_cst);
        if (!is_deferred(c)) {
            note_who_moves(d, c);
            while (!is_deferred(c)) {
                if (clock_.now.compare_exchange(c, c + 2, std::memory_order_seq_cst)) {
                    d.kept.clock.own = c + 2;
                    return {memory::make_version((c >> 1) + 1, d.writer), c == d.kept.clock.sampled};
                }
            }
        }
        if (--d.kept.clock.deferred_left == 0) [[unlikely]]
            try_counting(d, c);
        return {memory::make_version((c >> 1) + 1, d.writer), false};
    }

    /// Makes the time reach that of `version`, which a reader has met. True: it had not.
    static bool advance_to(word version) noexcept {
        const word time = memory::time_of(version);
        word c = clock_.now.load(std::memory_order_relaxed);
        while ((c >> 1) < time) {
            if (clock_.now.compare_exchange(c, (time << 1) | (c & 1), std::memory_order_seq_cst)) return true;
        }
        return false;
    }
    /// The same for a version of another, which d has met in the middle of a transaction: what deferring costs.
    static void advance_to_met(descriptor& d, word version) noexcept {
        if (!advance_to(version)) return;
        clock_view& v = d.kept.clock;
        if (++v.met >= window && v.met > (v.deferred_length - v.deferred_left) / 4) [[unlikely]]
            stop_deferring(d);
    }

    /// From here on `unmoved` is false and nothing is skipped.
    static void forget_sample(descriptor& d) noexcept { d.kept.clock.sampled = 1; }

    /// As in a fresh process. REQUIRES: no transaction runs.
    static void forget_what_deferring_cost() noexcept {
        pause_.until.store(0, std::memory_order_relaxed);
        pause_.length.store(shortest_pause, std::memory_order_relaxed);
    }

    /// Whether no other can have committed since the snapshot was sampled.
    static bool unmoved(const descriptor& d) noexcept {
        return !is_deferred(d.kept.clock.sampled) && clock_.now.load(std::memory_order_seq_cst) == d.kept.clock.sampled;
    }

    /// d read a version of its own beyond its snapshot bound, which is slow. Moves the time past it once that has
    /// happened often enough for the store to pay: 8 times in a transaction, or 128 in all.
    static void note_own_hit(descriptor& d, word version) noexcept {
        if (std::exchange(d.kept.clock.own_hits_of, d.own_sequence) != d.own_sequence) d.kept.clock.own_hits_here = 0;
        if (++d.kept.clock.own_hits_here < 8 && ++d.kept.clock.own_hits < 128) return;
        d.kept.clock.own_hits = 0;
        d.kept.clock.own_hits_here = 0;
        advance_to(version);
    }

private:
    static bool is_deferred(word c) noexcept { return (c & 1) != 0; }

    TUTTI_ALWAYS_INLINE static void note_who_moves(descriptor& d, word& c) noexcept {
        if (c != d.kept.clock.own) ++d.kept.clock.foreign;
        if (++d.kept.clock.counted >= window) [[unlikely]]
            end_window(d, c);
    }
    TUTTI_NOINLINE static void end_window(descriptor& d, word& c) noexcept {
        clock_view& v = d.kept.clock;
        v.counted = 0;
        end_if_late(c);
        if (std::exchange(v.foreign, 0) < window / 4 || (c >> 1) < pause_.until.load(std::memory_order_relaxed)) return;
        clock_.now.compare_exchange(c, c | 1, std::memory_order_seq_cst);
        v.deferred_length = std::min<std::uint32_t>(2 * v.deferred_length, 65536);
        begin_period(v);
        c = clock_.now.load(std::memory_order_seq_cst);
    }
    /// A version beyond the end of time would look like a lock.
    static void end_if_late(word c) noexcept {
        if ((c >> 1) >= end_of_time) [[unlikely]]
            base::panic("the version clock has counted 2^50 commits and cannot count further: restart the process");
    }
    static void begin_period(clock_view& v) noexcept {
        v.deferred_left = v.deferred_length;
        v.met = 0;
    }
    static void try_counting(descriptor& d, word c) noexcept {
        end_if_late(c);
        begin_period(d.kept.clock);
        pause_.length.store(shortest_pause, std::memory_order_relaxed);  // deferring has paid for a whole period
        switch_to_counting(c);
    }
    /// Moves the time: 7. False: it has moved meanwhile, or another has switched.
    static bool switch_to_counting(word& c) noexcept {
        return clock_.now.compare_exchange(c, (c + 2) & ~word{1}, std::memory_order_seq_cst);
    }
    TUTTI_NOINLINE static void stop_deferring(descriptor& d) noexcept {
        d.kept.clock.deferred_length = 128;
        begin_period(d.kept.clock);
        word c = clock_.now.load(std::memory_order_relaxed);
        if (!is_deferred(c) || !switch_to_counting(c)) return;
        const word length = pause_.length.load(std::memory_order_relaxed);
        pause_.until.store((c >> 1) + length, std::memory_order_relaxed);
        pause_.length.store(std::min(2 * length, longest_pause), std::memory_order_relaxed);
    }

    struct alignas(128) padded {
        detail::shared<word> now;
    };
    /// Until what time no descriptor defers, and how long the next such pause is. Hints, on a line that hardly changes.
    struct alignas(128) pause {
        std::atomic<word> until;
        std::atomic<word> length;
    };
    static constexpr word shortest_pause = 4096;  // commits of all descriptors
    static constexpr word longest_pause = word{1} << 22;
    static inline constinit pause pause_{0, shortest_pause};
    static inline constinit padded clock_{detail::shared<word>{4}};  // time 2, counting
};

}  // namespace tutti::algorithms
