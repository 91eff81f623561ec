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
//
// All of this holds within one era. When the time comes near its end, the clock starts anew while no transaction runs,
// and a new era begins: new_era.hpp. No snapshot lasts from one era to the next, but versions do. So:
//  9. Within an era, every draw is at most one more than the time. So a version that is later than that was drawn in an
//     era before: it is stale. Its orec has not been written in this era. It is beyond every bound, so a reader that
//     meets it comes to `advance_to`, which gives the orec a version that has the number of the era for its time. That
//     is earlier than all draws of the era, and so within every bound. Only an exchange that finds the stale version
//     does so, so nobody's lock, mark or later version is lost. A version of an earlier era that is not stale is at
//     worst taken for a later one than it is.
// 10. A load outside of transactions may last from one era to the next, so 8 does not help it: the same version may be
//     drawn again. It accepts only versions of the latest half of an era, or 0, which no commit draws (`is_recent`),
//     and gives an older one a later version first. So a version that two equal looks show is drawn again only half an
//     era, 65 days of 100 million commits a second, after the first look. Versions that `advance_to` gives differ from
//     era to era.
#pragma once

#include <algorithm>
#include <chrono>
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

    /// From this time on commits try to begin a new era: for 8 days at 100 million commits a second, 114 days after its
    /// begin.
    static constexpr word late = memory::last_time - (word{1} << 46);
    /// From this time on a descriptor that looks at the time ends the process. What is left of the times lasts until
    /// every descriptor has looked: 2^20 descriptors look once in 2^16 of their commits at least.
    static constexpr word end_of_time = memory::last_time - (word{1} << 40);
    /// The earliest time of an era. Those before it are given to stale versions, one in each era: for 1,280 years at
    /// 100 million commits a second. Then they come again.
    static constexpr word first_time = word{1} << 12;

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

    enum class reach : std::uint8_t {
        already,   ///< the time had reached the version
        advanced,  ///< it has now
        renewed,   ///< the version was stale (9): look at the orec again
    };
    /// Makes the time reach the version that `r` shows in `seen`, which a reader has met. REQUIRES: `seen`, which is
    /// not locked, was loaded from `r` by acquire. So the time that is found here is not earlier than that of the draw.
    static reach advance_to(memory::orec& r, word seen) noexcept {
        const word time = memory::time_of(seen);
        word c = clock_.now.load(std::memory_order_acquire);
        while ((c >> 1) < time) {
            if (time - (c >> 1) > 1) [[unlikely]] {
                // Acquire above: the number is that of the era that c belongs to, or of a later one.
                renew(r, seen, era_.number.load(std::memory_order_relaxed));
                return reach::renewed;
            }
            if (clock_.now.compare_exchange(c, (time << 1) | (c & 1), std::memory_order_seq_cst))
                return reach::advanced;
        }
        return reach::already;
    }
    /// The same for a version of another, which d has met in the middle of a transaction: what deferring costs.
    /// False: look at the orec again.
    static bool advance_to_met(descriptor& d, memory::orec& r, word seen) noexcept {
        const reach met = advance_to(r, seen);
        if (met == reach::renewed) return false;
        if (met == reach::advanced) note_met(d);
        return true;
    }

    /// Whether a load outside of transactions may rely on two equal looks that show `version`, if the time had reached
    /// `reached` before the first: 8 and 10.
    static bool is_recent(word reached, word version) noexcept {
        return reached - version <= memory::make_limit(memory::last_time / 2) || version == 0;
    }
    /// Makes what `seen` shows recent. REQUIRES: as advance_to.
    static void make_recent(memory::orec& r, word seen) noexcept {
        if (advance_to(r, seen) != reach::already) return;
        const word now = clock_.now.load(std::memory_order_acquire) >> 1;
        // The time has reached it, so no later draw repeats it (8), and readers with earlier bounds validate.
        if (now - memory::time_of(seen) >= memory::last_time / 2) renew(r, seen, now);
    }

    /// Whether commits are to try to begin a new era.
    static bool is_late() noexcept { return is_late(clock_.now.load(std::memory_order_relaxed)); }
    /// For how long the next try may take. Doubles with each that fails, so that a transaction of any length is waited
    /// for in the end.
    static std::chrono::milliseconds patience() noexcept {
        return std::chrono::milliseconds{1} * (1 << std::min(era_.failures.load(std::memory_order_relaxed), 20U));
    }
    /// A try has failed: the next one comes after a while, which doubles, too, up to 3 minutes at 100 million commits a
    /// second. Of several contexts that have failed at once one counts.
    static void put_off_new_era() noexcept {
        const word now = clock_.now.load(std::memory_order_relaxed) >> 1;
        word seen = era_.next_try.load(std::memory_order_relaxed);
        const std::uint32_t failures = era_.failures.load(std::memory_order_relaxed);
        if (seen > now || !era_.next_try.compare_exchange_strong(seen, now + (word{1024} << std::min(failures, 24U))))
            return;
        era_.failures.store(failures + 1, std::memory_order_relaxed);
    }
    /// REQUIRES: new_era.hpp, E1 to E3.
    static void start_era() noexcept {
        forget_what_deferring_cost();
        era_.next_try.store(0, std::memory_order_relaxed);
        era_.failures.store(0, std::memory_order_relaxed);
        era_.number.store((era_.number.load(std::memory_order_relaxed) + 1) % first_time, std::memory_order_relaxed);
        // Release: a context that finds a time of the new era finds its number.
        clock_.now.store(first_time << 1, std::memory_order_seq_cst);
    }

private:
    static void note_met(descriptor& d) noexcept {
        clock_view& v = d.kept.clock;
        if (++v.met >= window && v.met > (v.deferred_length - v.deferred_left) / 4) [[unlikely]]
            stop_deferring(d);
    }
    /// Gives `r` the version of `time`, unless it has changed. Release: what made the value `seen` is older.
    static void renew(memory::orec& r, word seen, word time) noexcept {
        const word version = memory::make_version(time, memory::anonymous);
        const word fresh =
            memory::is_marked(seen) ? memory::make_marked(version, memory::slots_of_readers(seen)) : version;
        r.compare_exchange(seen, fresh, std::memory_order_acq_rel);
    }

public:
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
    static void note_own_hit(descriptor& d, memory::orec& r, word seen) noexcept {
        if (std::exchange(d.kept.clock.own_hits_of, d.own_sequence) != d.own_sequence) d.kept.clock.own_hits_here = 0;
        if (++d.kept.clock.own_hits_here < 8 && ++d.kept.clock.own_hits < 128) return;
        d.kept.clock.own_hits = 0;
        d.kept.clock.own_hits_here = 0;
        advance_to(r, seen);
    }

private:
    static bool is_late(word c) noexcept {
        return (c >> 1) >= late && (c >> 1) >= era_.next_try.load(std::memory_order_relaxed);
    }
    static bool is_deferred(word c) noexcept { return (c & 1) != 0; }

    TUTTI_ALWAYS_INLINE static void note_who_moves(descriptor& d, word& c) noexcept {
        if (c != d.kept.clock.own) ++d.kept.clock.foreign;
        if (++d.kept.clock.counted >= window) [[unlikely]]
            end_window(d, c);
    }
    TUTTI_NOINLINE static void end_window(descriptor& d, word& c) noexcept {
        clock_view& v = d.kept.clock;
        v.counted = 0;
        look_at_time(d, c);
        if (std::exchange(v.foreign, 0) < window / 4 || (c >> 1) < pause_.until.load(std::memory_order_relaxed)) return;
        clock_.now.compare_exchange(c, c | 1, std::memory_order_seq_cst);
        v.deferred_length = std::min<std::uint32_t>(2 * v.deferred_length, 65536);
        begin_period(v);
        c = clock_.now.load(std::memory_order_seq_cst);
    }
    /// A version beyond the end of time would look like a lock.
    static void look_at_time(descriptor& d, word c) noexcept {
        if ((c >> 1) >= end_of_time) [[unlikely]]
            base::panic(
                "the version clock has reached its end and cannot start anew: a transaction, or an undo action that "
                "waits, has been running while others made 2^45 commits; restart the process");
        if (is_late(c)) [[unlikely]]
            d.slow_commit |= core::slow_commit_late_clock;
    }
    static void begin_period(clock_view& v) noexcept {
        v.deferred_left = v.deferred_length;
        v.met = 0;
    }
    static void try_counting(descriptor& d, word c) noexcept {
        look_at_time(d, c);
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
    /// A line that hardly changes, too.
    struct alignas(128) era {
        std::atomic<word> number;
        std::atomic<word> next_try;  // no try before this time
        std::atomic<std::uint32_t> failures;
    };
    static constexpr word shortest_pause = 4096;  // commits of all descriptors
    static constexpr word longest_pause = word{1} << 22;
    static inline constinit pause pause_{0, shortest_pause};
    static inline constinit era era_{0, 0, 0};
    static inline constinit padded clock_{detail::shared<word>{first_time << 1}};  // counting
};

}  // namespace tutti::algorithms
