// The clock from which versions are drawn: TL2's global counter (Dice, Shalev, Shavit, DISC 2006), except that this
// clock stops counting while no snapshot needs a new time.
//
// One word:
//
//   61 … 12 time | 5 … 2 number of announced snapshots | 1 mode after the last of them | 0 deferred mode
//
// The time is where versions have theirs (memory/orec.hpp), so a bound or a version takes few instructions.
//
//   counting   A commit moves the time by one. If the time has not moved since the snapshot was taken, no other
//              transaction committed, and the commit need not validate. A descriptor switches to deferred mode if other
//              descriptors have moved the clock in a quarter of a window of its commits.
//   deferred   A commit uses time + 1 without storing it, so that private writers share no cache line. The time moves
//              only when a transaction finds a version beyond it. After a number of own commits (128, and twice as many
//              with each switch of this descriptor, up to 65,536) a descriptor tries counting again. It does so
//              immediately if it finds many versions of other descriptors. Then no descriptor defers during a pause,
//              whose length doubles each time. The switch back to counting moves the time.
//   snapshots    While a snapshot is announced (snapshots.hpp), bit 0 is clear. A commit uses time + 1 without storing
//              it, as in deferred mode, keeps what it overwrites, and validates. An announcement moves the time by
//              some ticks.
//
// Why snapshots are opaque. Let p be the instant at which a committing transaction holds all its locks, just before it
// draws its version; order committed writers by p. A snapshot's bound is sampled at s.
//  1. The draw comes after p: locks are taken by seq_cst read-modify-writes, and the draw is a seq_cst access.
//  2. A version within a bound sampled at s has p < s: the version is at least one more than the clock showed at its
//     draw. So the bound reaches the version only after the clock was moved, which was after the draw.
//  3. A read accepted at t > s returns the state at s. Its orec was unlocked at t with a version whose p < s. Any
//     other writer of that orec with p < s held the lock at p. The writer of the version that was read has overwritten
//     this value since, or the read would find the lock. Writers with p > s leave a version above the bound.
//  4. Versions above the bound that the reader's own descriptor wrote are accepted, too. Only that descriptor writes
//     its number, and the descriptor is inside this transaction. So p < s, and no other writer has overwritten the
//     version. A descriptor passes to another context only between transactions.
//  5. An extension first samples and then validates. A writer that drew before the new sample already held its locks,
//     and validation sees them (the fence in `refresh`, in time_based.hpp, orders the two for the abstract machine).
//  6. A commit validates after its p, so all its reads are current at p. Writers serialize at p, readers at s.
//  7. Validation may be skipped if the clock word equals the sampled one and is in counting mode. Then no commit has
//     drawn in counting mode since. A commit that drew in deferred mode did so before the switch to counting, which
//     moved the time. So it drew before s, and held its locks at s. So the word never returns to an old value, although
//     the switch to deferred mode does not change the time.
//     A commit that drew beside an announced snapshot moved no time either, but the word shows that snapshot, and the
//     end of the last snapshot moves the time.
//  8. Two commits may draw the same version in deferred mode, and two commits of one writer may leave it in the same
//     orec. Neither version is within any bound until the time moves. After that, no draw repeats the value: the commit
//     that drew it had its lock before the time moved (1). So an orec never returns to a version that the time had
//     reached when a reader looked, except by a roll-back that leaves the value as it was.
//
// All of this holds within one era. When the time comes near its end, the clock starts anew while no transaction runs,
// and a new era begins: new_era.hpp. No snapshot lasts from one era to the next, but versions do. So:
//  9. Within an era, every draw is at most one more than the time. So a version that is later than this was drawn in an
//     earlier era: it is stale, and its orec has not been written in this era. A stale version is beyond every bound,
//     so a reader that finds it calls `advance_to`, which gives the orec a version whose time is the number of the era.
//     That time is earlier than all draws of the era, and so within every bound. The change is an exchange that
//     succeeds only on the stale version, so no lock, mark or later version is lost. A version of an earlier era that
//     is not stale seems, at worst, later than it is.
// 10. A load outside of transactions may last from one era to the next, so 8 does not hold for it: the same version may
//     be drawn again. The load accepts only versions of the latest half of an era, or 0, which no commit draws
//     (`is_recent`). If the orec has an older version, the load first gives the orec a later one. So a version that two
//     equal loads show is drawn again only half an era after the first load. That is 65 days at 100 million commits a
//     second. Versions that `advance_to` gives differ from era to era.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/snapshots.hpp"
#include "base/panic.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::algorithms {

using core::clock_view;
using core::descriptor;
using detail::word;

class version_clock {
public:
    /// The number of commits after which a descriptor checks in how many of them another descriptor had moved the
    /// clock.
    static constexpr std::uint32_t window = 64;

    /// The time from which commits try to begin a new era. At 100 million commits a second, this time comes 114 days
    /// after the start of an era, and 8 days remain for the tries.
    static constexpr word late = memory::max_time - (word{1} << 46);
    /// The time from which a descriptor that reads the time ends the process. The times after it suffice until every
    /// descriptor has read the time: each of 2^20 descriptors reads the time at least once in 2^16 of its commits.
    static constexpr word end_of_time = memory::max_time - (word{1} << 40);
    /// The earliest time of an era. Each era gives one of the times before it to stale versions. These times last 1,280
    /// years at 100 million commits a second, and are then used again.
    static constexpr word first_time = word{1} << 12;

    /// The position of the time in the clock's word, and how many snapshots the word can count.
    static constexpr unsigned time_shift = memory::writer_bits;
    static constexpr std::uint32_t max_snapshots = 15;

    /// Returns the bound of a snapshot taken now.
    TUTTI_ALWAYS_INLINE static word sample(descriptor& d) noexcept {
        const word c = clock_.now.load(std::memory_order_seq_cst);
        d.algorithm_data.clock.sampled = c;
        return bound_in(c);
    }

    /// Returns the largest version that the time has reached. Readers without a snapshot use this function.
    static word reached() noexcept { return bound_in(clock_.now.load(std::memory_order_seq_cst)); }

    struct drawn {
        word version;
        bool nobody_committed;  ///< since the snapshot was sampled; see 7
    };
    /// Draws the version of a commit. REQUIRES: d holds every lock that it will hold.
    TUTTI_ALWAYS_INLINE static drawn draw(descriptor& d) noexcept {
        word c = clock_.now.load(std::memory_order_seq_cst);
        if (is_deferred(c)) return draw_deferred(d, c);
        clock_view& v = d.algorithm_data.clock;
        // The descriptor's own word shows no snapshot, so only another word has to be tested for one.
        if (c != v.own) {
            if (has_snapshots(c)) [[unlikely]]
                return draw_beside_snapshots(d, c);
            ++v.foreign;
        }
        if (++v.counted >= window) [[unlikely]]
            end_window(d, c);
        else if (clock_.now.compare_exchange(c, c + one_tick, std::memory_order_seq_cst)) [[likely]]
            return counted(d, c);
        return draw_slowly(d);
    }

    enum class advance_result : std::uint8_t {
        already,   ///< the time had reached the version
        advanced,  ///< the time has now reached the version
        renewed,   ///< the version was stale (9): load the orec again
    };
    /// Makes the time reach the version in `seen`, which a reader has found in `r`. REQUIRES: `seen` is not locked, and
    /// was loaded from `r` with acquire. So the time that is loaded here is not earlier than the time at the draw.
    static advance_result advance_to(memory::orec& r, word seen) noexcept {
        const word time = memory::time_of(seen);
        word c = clock_.now.load(std::memory_order_acquire);
        while (time_in(c) < time) {
            if (time - time_in(c) > 1) [[unlikely]] {
                // Because of the acquire above, the number is that of c's era or of a later era.
                renew(r, seen, era_.number.load(std::memory_order_relaxed));
                return advance_result::renewed;
            }
            if (clock_.now.compare_exchange(c, (time << time_shift) | (c & below_time), std::memory_order_seq_cst))
                return advance_result::advanced;
        }
        return advance_result::already;
    }
    /// Does the same for the version of another descriptor, which d has found in the middle of a transaction. This is
    /// the cost of deferred mode. Returns false if the caller has to load the orec again.
    static bool advance_to_foreign(descriptor& d, memory::orec& r, word seen) noexcept {
        const advance_result result = advance_to(r, seen);
        if (result == advance_result::renewed) return false;
        if (result == advance_result::advanced) note_foreign_version(d);
        return true;
    }

    /// Returns true if a load outside of transactions may rely on two equal loads of the orec that show `version`.
    /// `reached`: the version that the time had reached before the first load. See 8 and 10.
    static bool is_recent(word reached, word version) noexcept {
        return reached - version <= memory::make_snapshot_bound(memory::max_time / 2) || version == 0;
    }
    /// Makes the version in `seen` recent. REQUIRES: the same as advance_to.
    static void make_recent(memory::orec& r, word seen) noexcept {
        if (advance_to(r, seen) != advance_result::already) return;
        const word now = time_in(clock_.now.load(std::memory_order_acquire));
        // A version of the present time is safe here: the time has reached it, so no later draw repeats it (8), and
        // readers with earlier bounds validate.
        if (now - memory::time_of(seen) >= memory::max_time / 2) renew(r, seen, now);
    }

    /// Returns true if commits have to try to begin a new era.
    static bool is_late() noexcept { return is_late(clock_.now.load(std::memory_order_relaxed)); }
    /// Returns how long the next try may take. The limit doubles with each failed try, so that in the end it exceeds
    /// the length of any transaction.
    static std::chrono::milliseconds try_limit() noexcept {
        return std::chrono::milliseconds{1} * (1 << std::min(era_.failures.load(std::memory_order_relaxed), 20U));
    }
    /// Records that a try has failed. The next try comes after a delay, which also doubles, up to 3 minutes at 100
    /// million commits a second. Failures of several contexts at the same time count once.
    static void postpone_new_era() noexcept {
        const word now = time_in(clock_.now.load(std::memory_order_relaxed));
        word seen = era_.next_try.load(std::memory_order_relaxed);
        const std::uint32_t failures = era_.failures.load(std::memory_order_relaxed);
        if (seen > now || !era_.next_try.compare_exchange_strong(seen, now + (word{1024} << std::min(failures, 24U))))
            return;
        era_.failures.store(failures + 1, std::memory_order_relaxed);
    }
    /// Starts a new era. REQUIRES: new_era.hpp, ERA1 to ERA3.
    static void start_era() noexcept {
        reset_pause();
        era_.next_try.store(0, std::memory_order_relaxed);
        era_.failures.store(0, std::memory_order_relaxed);
        era_.number.store((era_.number.load(std::memory_order_relaxed) + 1) % first_time, std::memory_order_relaxed);
        // Release: a context that finds a time of the new era also finds the number of that era.
        clock_.now.store(first_time << time_shift, std::memory_order_seq_cst);
    }

private:
    static void note_foreign_version(descriptor& d) noexcept {
        clock_view& v = d.algorithm_data.clock;
        if (++v.foreign_versions >= window && v.foreign_versions > (v.deferred_length - v.deferred_left) / 4)
            [[unlikely]]
            stop_deferring(d);
    }
    /// Gives `r` the version of `time`, unless `r` has changed. Release: the store of the value `seen` comes before
    /// this exchange.
    static void renew(memory::orec& r, word seen, word time) noexcept {
        const word version = memory::make_version(time, memory::unknown_writer);
        const word fresh =
            memory::is_marked(seen) ? memory::make_marked(version, memory::slots_of_readers(seen)) : version;
        r.compare_exchange(seen, fresh, std::memory_order_acq_rel);
    }

public:
    /// Makes `unmoved` return false, so that no validation is skipped afterwards.
    static void forget_sample(descriptor& d) noexcept { d.algorithm_data.clock.sampled = deferred; }

    /// Resets the pause to that of a fresh process. REQUIRES: no transaction runs.
    static void reset_pause() noexcept {
        pause_.until.store(0, std::memory_order_relaxed);
        pause_.length.store(min_pause, std::memory_order_relaxed);
    }

    /// Returns true if no other transaction can have committed since the snapshot was sampled.
    static bool unmoved(const descriptor& d) noexcept {
        return is_counting(d.algorithm_data.clock.sampled) &&
               clock_.now.load(std::memory_order_seq_cst) == d.algorithm_data.clock.sampled;
    }

    /// Records that d has read a version of its own beyond its snapshot bound, which is slow. After 8 such reads in a
    /// transaction, or 128 in all, moves the time to that version, because the cost of the store is then justified.
    static void note_own_hit(descriptor& d, memory::orec& r, word seen) noexcept {
        if (std::exchange(d.algorithm_data.clock.own_hits_of, d.own_sequence) != d.own_sequence)
            d.algorithm_data.clock.own_hits_here = 0;
        if (++d.algorithm_data.clock.own_hits_here < 8 && ++d.algorithm_data.clock.own_hits < 128) return;
        d.algorithm_data.clock.own_hits = 0;
        d.algorithm_data.clock.own_hits_here = 0;
        advance_to(r, seen);
    }

    // --- for snapshots.cpp

    [[nodiscard]] static word load() noexcept { return clock_.now.load(std::memory_order_acquire); }
    static constexpr word time_in(word c) noexcept { return c >> time_shift; }
    /// Checks that the time has not reached its end, because a version beyond the end would look like a lock.
    static void check_time(descriptor& d, word c) noexcept {
        if (time_in(c) >= end_of_time) [[unlikely]]
            base::panic(
                "the version clock has reached its end and cannot start anew: a transaction, or an undo action that "
                "waits, has been running while others made 2^45 commits; restart the process");
        if (is_late(c)) [[unlikely]]
            d.slow_commit |= core::slow_commit_late_clock;
    }
    /// Moves the time to `time` and counts one more announced snapshot. Returns false, and stores the present word in
    /// `c`, if the time has reached `time` meanwhile. REQUIRES: `c` is an earlier value of the word, with a time before
    /// `time`; fewer than max_snapshots snapshots are announced.
    static bool add_snapshot(word& c, word time) noexcept {
        do {
            const word mode_afterwards = has_snapshots(c) ? c & deferred_afterwards : (c & deferred) << 1;
            const word next = (time << time_shift) | ((c & snapshot_count) + one_snapshot) | mode_afterwards;
            if (clock_.now.compare_exchange(c, next, std::memory_order_seq_cst)) return true;
        } while (time_in(c) < time);
        return false;
    }
    /// Counts one announced snapshot less. The last one moves the time, so that the word never returns to an old value
    /// (7).
    static void remove_snapshot() noexcept {
        word c = clock_.now.load(std::memory_order_relaxed);
        for (;;) {
            const bool is_last = (c & snapshot_count) == one_snapshot;
            const word next =
                is_last ? ((time_in(c) + 1) << time_shift) | (c & deferred_afterwards) >> 1 : c - one_snapshot;
            if (clock_.now.compare_exchange(c, next, std::memory_order_seq_cst)) return;
        }
    }
    /// Sets the number of announced snapshots. REQUIRES: no other thread exists.
    static void set_snapshots_in_fork_child(std::uint32_t count) noexcept {
        const word c = clock_.now.load(std::memory_order_relaxed);
        if (!has_snapshots(c)) return;
        clock_.now.store((c & ~snapshot_count) + count * one_snapshot, std::memory_order_relaxed);
        if (count != 0) return;
        clock_.now.store((c & ~below_time) + one_tick, std::memory_order_relaxed);
    }

private:
    static constexpr word deferred = 1;
    static constexpr word deferred_afterwards = 2;
    static constexpr word one_snapshot = 4;
    static constexpr word snapshot_count = max_snapshots * one_snapshot;
    static constexpr word one_tick = word{1} << time_shift;
    static constexpr word below_time = one_tick - 1;

    static bool is_late(word c) noexcept {
        return time_in(c) >= late && time_in(c) >= era_.next_try.load(std::memory_order_relaxed);
    }
    static constexpr word bound_in(word c) noexcept { return c | below_time; }
    /// Returns d's version of the time after that in `c`.
    static word next_version(const descriptor& d, word c) noexcept { return (bound_in(c) + 1) | d.writer; }
    static bool is_deferred(word c) noexcept { return (c & deferred) != 0; }
    static bool has_snapshots(word c) noexcept { return (c & snapshot_count) != 0; }
    static bool is_counting(word c) noexcept { return (c & (deferred | snapshot_count)) == 0; }

    /// Returns what a commit has drawn that has moved the time of the word `c` by one.
    TUTTI_ALWAYS_INLINE static drawn counted(descriptor& d, word c) noexcept {
        d.algorithm_data.clock.own = c + one_tick;
        return {next_version(d, c), c == d.algorithm_data.clock.sampled};
    }
    TUTTI_ALWAYS_INLINE static drawn draw_deferred(descriptor& d, word c) noexcept {
        if (--d.algorithm_data.clock.deferred_left == 0) [[unlikely]]
            try_counting(d, c);
        return {next_version(d, c), false};
    }
    TUTTI_NOINLINE static drawn draw_beside_snapshots(descriptor& d, word c) noexcept {
        check_time(d, c);
        const word version = next_version(d, c);
        snapshots::keep_overwritten(d, version);
        return {version, false};
    }
    /// Draws after the word has changed, or may have changed its mode.
    TUTTI_NOINLINE static drawn draw_slowly(descriptor& d) noexcept {
        for (;;) {
            word c = clock_.now.load(std::memory_order_seq_cst);
            if (is_deferred(c)) return draw_deferred(d, c);
            if (has_snapshots(c)) return draw_beside_snapshots(d, c);
            if (clock_.now.compare_exchange(c, c + one_tick, std::memory_order_seq_cst)) return counted(d, c);
        }
    }
    TUTTI_NOINLINE static void end_window(descriptor& d, word c) noexcept {
        clock_view& v = d.algorithm_data.clock;
        v.counted = 0;
        check_time(d, c);
        if (std::exchange(v.foreign, 0) < window / 4 || time_in(c) < pause_.until.load(std::memory_order_relaxed))
            return;
        clock_.now.compare_exchange(c, c | deferred, std::memory_order_seq_cst);
        v.deferred_length = std::min<std::uint32_t>(2 * v.deferred_length, 65536);
        begin_period(v);
    }
    static void begin_period(clock_view& v) noexcept {
        v.deferred_left = v.deferred_length;
        v.foreign_versions = 0;
    }
    static void try_counting(descriptor& d, word c) noexcept {
        check_time(d, c);
        begin_period(d.algorithm_data.clock);
        pause_.length.store(min_pause, std::memory_order_relaxed);  // deferring has paid for a whole period
        switch_to_counting(c);
    }
    /// Switches to counting and moves the time (7). Returns false if the time has moved meanwhile, or another
    /// descriptor has switched the mode.
    static bool switch_to_counting(word& c) noexcept {
        return clock_.now.compare_exchange(c, (c + one_tick) & ~deferred, std::memory_order_seq_cst);
    }
    TUTTI_NOINLINE static void stop_deferring(descriptor& d) noexcept {
        clock_view& v = d.algorithm_data.clock;
        word c = clock_.now.load(std::memory_order_relaxed);
        // Versions that commits draw beside a snapshot do not say that deferring costs too much.
        if (!has_snapshots(c)) v.deferred_length = 128;
        begin_period(v);
        if (!is_deferred(c) || !switch_to_counting(c)) return;
        const word length = pause_.length.load(std::memory_order_relaxed);
        pause_.until.store(time_in(c) + length, std::memory_order_relaxed);
        pause_.length.store(std::min(2 * length, max_pause), std::memory_order_relaxed);
    }

    struct alignas(128) padded {
        detail::shared<word> now;
    };
    /// The time until which no descriptor defers, and the length of the next such pause. Both are hints, on a cache
    /// line that is rarely written.
    struct alignas(128) pause {
        std::atomic<word> until;
        std::atomic<word> length;
    };
    /// The era, on another cache line that is rarely written.
    struct alignas(128) era {
        std::atomic<word> number;
        std::atomic<word> next_try;  // no context tries before this time
        std::atomic<std::uint32_t> failures;
    };
    static constexpr word min_pause = 4096;  // commits of all descriptors
    static constexpr word max_pause = word{1} << 22;
    static inline constinit pause pause_{0, min_pause};
    static inline constinit era era_{0, 0, 0};
    static inline constinit padded clock_{detail::shared<word>{first_time << time_shift}};  // counting
};

}  // namespace tutti::algorithms
