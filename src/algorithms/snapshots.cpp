#include "algorithms/snapshots.hpp"

#include <bit>
#include <new>

#include "algorithms/kept_values.hpp"
#include "algorithms/version_clock.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::algorithms::snapshots {
namespace {

using core::fault;
using core::injected;

/// How far an announcement moves the time. Commits of other contexts may move the time meanwhile, so one tick would
/// often be too few.
constexpr word ticks_ahead = 8;
/// Generations are even while announced. A slot rests before its tags would repeat (KEP4).
constexpr word last_generation = ((word{1} << kept_values::tag_bits) - 2) * 2;

struct alignas(128) slot {
    // Odd: no snapshot is announced here. Even: a snapshot with the tag generation / 2.
    detail::shared<word> generation{1};
    detail::shared<word> limit{0};       // the bound of the snapshot
    detail::shared<word> overflowed{0};  // the latest generation for which a value did not fit
    detail::shared<std::uint32_t> first_level{0};
    // Only the context that has claimed the slot uses the following members, except for the values.
    alignas(128) descriptor* owner = nullptr;
    bool rests = false;              // its tags are spent: see `rest`
    std::uint32_t level_needed = 0;  // by the latest snapshot
    std::uint32_t announcements = 0;
    kept_values values;
};

constinit slot slots[version_clock::max_snapshots];
/// A bit for each slot that a context has claimed, or that rests.
alignas(128) constinit std::atomic<std::uint32_t> claimed{0};

word tag_of(word generation) noexcept { return generation / 2; }

void free_slot(std::uint32_t number) noexcept {
    slots[number].owner = nullptr;
    claimed.fetch_and(~(std::uint32_t{1} << number), std::memory_order_release);
}

slot& slot_of(const descriptor& d) noexcept { return slots[d.algorithm_data.snapshot.slot]; }

/// Makes a slot usable again whose tags are spent.
void end_rest(void* object) {
    slot& s = *static_cast<slot*>(object);
    s.values.recycle();
    s.rests = false;
    s.overflowed.store(0, std::memory_order_relaxed);
    s.generation.store(1, std::memory_order_relaxed);
    free_slot(static_cast<std::uint32_t>(&s - slots));
}

/// Takes a spent slot out of use until no transaction knows one of its tags. Returns false, and frees the slot, if
/// memory runs out. REQUIRES: d has claimed the slot.
bool rest(descriptor& d, std::uint32_t number) noexcept {
    try {
        d.limbo.reserve(d.deferred_log.size() + 1);
    } catch (const std::bad_alloc&) {
        free_slot(number);
        return false;
    }
    slots[number].rests = true;
    d.limbo.retire_soon({&slots[number], end_rest});
    return true;
}

/// Returns the number of a slot that d has claimed, or max_snapshots. Acquire: partner is the release in free_slot.
std::uint32_t claim(descriptor& d) noexcept {
    for (;;) {
        std::uint32_t seen = claimed.load(std::memory_order_relaxed);
        std::uint32_t number = 0;
        do {
            number = static_cast<std::uint32_t>(std::countr_one(seen));
            if (number >= version_clock::max_snapshots) return version_clock::max_snapshots;
        } while (!claimed.compare_exchange_weak(seen, seen | std::uint32_t{1} << number, std::memory_order_acquire,
                                                std::memory_order_relaxed));
        if (slots[number].generation.load(std::memory_order_relaxed) < last_generation) [[likely]] {
            slots[number].owner = &d;
            return number;
        }
        if (!rest(d, number)) return version_clock::max_snapshots;
    }
}

word overlaid(word value, const memory::write_entry& e) noexcept {
    const word own = memory::bit_mask_of(e.bytes);
    return (e.value & own) | (value & ~own);
}

/// Returns the old value of the whole word of a write entry. An algorithm in place has the old bytes in its entries.
/// The bytes of an entry before `notes_end` may continue in later entries (undo::add_bytes), of which the first has the
/// oldest value.
word old_value(const descriptor& d, const memory::write_entry& e) noexcept {
    word value = memory::load_bytes(e.address, 8);
    if (!d.algorithm->in_place || injected(fault::keep_written_value)) return value;
    if (static_cast<std::size_t>(&e - d.writes.begin()) < d.notes_end && e.bytes != 0xff) {
        for (const memory::write_entry* later = d.writes.end(); --later != &e;) {
            if (later->address == e.address) value = overlaid(value, *later);
        }
    }
    return overlaid(value, e);
}

bool is_plain(const memory::write_entry& e) noexcept {
    if (injected(fault::keep_by_version_only)) return false;
    const auto* const r = reinterpret_cast<const unsigned char*>(e.orec);
    return r >= memory::orec_table && r < memory::orec_table + sizeof(memory::orec_table);
}

void keep_for(slot& s, const descriptor& d, word version) noexcept {
    const word generation = s.generation.load(std::memory_order_acquire);
    if (generation % 2 != 0) return;
    // KEP2. The orec orders the writers of a word, so a later writer finds the mark of an earlier one.
    if (s.overflowed.load(std::memory_order_acquire) >= generation) return;
    const word limit = s.limit.load(std::memory_order_acquire);
    if (version <= limit) return;  // d belongs to the snapshot, or the announcement has not succeeded yet (SNP7)
    const std::uint32_t first = s.first_level.load(std::memory_order_relaxed);
    // A version beyond d's is stale (version_clock.hpp, 9), so it does not say that a value was kept.
    for (const memory::write_entry& e : d.writes) {
        if (e.orec == nullptr ||
            !(e.version <= limit || memory::time_of(e.version) > memory::time_of(version) || is_plain(e)))
            continue;
        if (s.values.keep(tag_of(generation), first, e.address, old_value(d, e))) continue;
        // The number only grows, so a delayed writer hides no later overflow.
        word seen = s.overflowed.load(std::memory_order_relaxed);
        while (seen < generation && !s.overflowed.compare_exchange(seen, generation, std::memory_order_release))
            continue;
        return;
    }
}

}  // namespace

bool announce(descriptor& d) noexcept {
    const std::uint32_t number = claim(d);
    if (number == version_clock::max_snapshots) return false;
    slot& s = slots[number];
    // A snapshot begins with the level that the latest one needed; one in 64 tries the smaller level.
    std::uint32_t level = s.level_needed;
    if (level != 0 && ++s.announcements % 64 == 0) --level;
    s.first_level.store(level, std::memory_order_relaxed);
    if (!s.values.start(level)) {
        free_slot(number);
        return false;
    }
    word generation = s.generation.load(std::memory_order_relaxed);
    word time = 0;
    word c = version_clock::load();
    version_clock::check_time(d, c);
    for (;;) {
        if (generation >= last_generation) [[unlikely]] {  // very many tries have failed
            free_slot(number);
            return false;
        }
        time = version_clock::time_in(c) + ticks_ahead;
        s.limit.store(memory::make_snapshot_bound(time), std::memory_order_release);
        generation = (generation | 1) + 1;
        s.generation.store(generation, std::memory_order_release);
        if (version_clock::add_snapshot(c, time)) break;
        s.generation.store(generation | 1, std::memory_order_release);  // SNP7
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);  // SNP1
    d.algorithm_data.snapshot = {.generation = generation, .slot = static_cast<std::uint8_t>(number), .turns = 0};
    version_clock::forget_sample(d);
    d.snapshot_bound = memory::make_snapshot_bound(time);
    d.inlined = !injected(fault::single_orec_load);
    d.set_bounds();
    return true;
}

void withdraw(descriptor& d) noexcept {
    slot& s = slot_of(d);
    s.generation.store(d.algorithm_data.snapshot.generation + 1, std::memory_order_release);
    d.algorithm_data.snapshot.generation = 0;
    version_clock::remove_snapshot();
    const std::uint32_t used = s.values.largest_used();
    if (used < s.level_needed) static_cast<void>(s.values.drop_level(s.level_needed));
    s.level_needed = used;
    free_slot(d.algorithm_data.snapshot.slot);
}

void keep_overwritten(const descriptor& d, word version) noexcept {
    if (injected(fault::keep_nothing)) return;
    // A context claims its slot before it announces, so the word that d drew from shows the claim, too (SNP3).
    for (std::uint32_t left = claimed.load(std::memory_order_acquire); left != 0; left &= left - 1)
        keep_for(slots[std::countr_zero(left)], d, version);
}

bool find_kept(const descriptor& d, const word* address, word& value) noexcept {
    const slot& s = slot_of(d);
    return s.values.find(tag_of(d.algorithm_data.snapshot.generation), s.first_level.load(std::memory_order_relaxed),
                         address, value);
}

bool renew_if_stale(memory::orec& r, word seen) noexcept {
    return version_clock::advance_to(r, seen) == version_clock::advance_result::renewed;
}

bool has_overflowed(const descriptor& d) noexcept {
    return slot_of(d).overflowed.load(std::memory_order_acquire) == d.algorithm_data.snapshot.generation;
}

void give_up(descriptor& d) {
    d.run.log_reads = true;
    core::forget_prediction(d.run);
    core::attempt_abort(d, abort_cause::snapshot_full);
}

void forget_others(const descriptor* self) noexcept {
    std::uint32_t left = 0;
    for (std::uint32_t all = claimed.load(std::memory_order_relaxed); all != 0; all &= all - 1) {
        const auto number = static_cast<std::uint32_t>(std::countr_zero(all));
        slot& s = slots[number];
        if (s.owner != nullptr && core::shares_context(*s.owner, self)) {
            left += s.owner->reads_snapshot() ? 1 : 0;
            continue;
        }
        if (s.owner != nullptr) s.owner->algorithm_data.snapshot.generation = 0;
        s.generation.store(s.generation.load(std::memory_order_relaxed) | 1, std::memory_order_relaxed);
        if (!s.rests) free_slot(number);  // a slot that rests is in a limbo
    }
    version_clock::set_snapshots_in_fork_child(left);
}

}  // namespace tutti::algorithms::snapshots
