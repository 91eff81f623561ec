// wb-etl, the default: the first write of a variable locks its orec, and the value waits in the write set. The lock
// word has the number of the write entry, so a transaction reads its own writes without a search.
//
//   orec            meaning here
//   locked(me, i)     write entry i holds the new value; memory the old one, and the entry the old version
//
// Conflicts between writers are found at the first write, when a roll-back wastes little work. Readers of a locked orec
// wait for its owner.
#pragma once

#include "algorithms/new_era.hpp"
#include "algorithms/redo.hpp"

namespace tutti::algorithms {

struct wb_etl {
    static constexpr std::string_view name = "wb-etl";
    static constexpr std::string_view summary = "encounter-time locking, write-back (the default)";
    static constexpr bool privatizes_by_waiting = true;
    static constexpr bool in_place = false;
    static constexpr bool one_at_a_time = false;
    static constexpr int first_version_bit = memory::writer_bits;

    TUTTI_ALWAYS_INLINE static void begin(descriptor& d) noexcept { time_based::begin(d); }
    TUTTI_ALWAYS_INLINE static void begin_optimistic(descriptor& d, bool logging) noexcept {
        time_based::begin_optimistic(d, logging);
    }
    static void begin_snapshot(descriptor& d) { time_based::begin_snapshot(d); }

    template <class Location>
    static word read(descriptor& d, const Location& location) {
        return time_based::read(d, location, [&](word locked) {
            const std::uint32_t entry = redo::find_under(d, location, locked);
            redo::note_read_under(d, location, locked, entry);
            // While d owns an orec, memory under it does not change: bytes that d did not write have the values that
            // they had when d took the orec.
            return entry == memory::no_entry ? location.read() : memory::overlay(location, d.writes[entry]);
        });
    }

    template <class Location>
    TUTTI_ALWAYS_INLINE static void write(descriptor& d, const Location& location, word value) {
        memory::orec& r = location.orec();
        word seen = r.load(std::memory_order_acquire);
        // The orec is neither locked nor marked, so only its version matters.
        if (time_based::is_current(d, seen)) [[likely]] {
            d.writes.reserve_one();
            // seq_cst: version_clock.hpp, 1.
            if (r.compare_exchange(seen, d.self_lock | d.writes.size(), std::memory_order_seq_cst)) [[likely]]
                return add(d, location, value, {seen, false});
        }
        write_carefully(d, location, value);
    }

    template <class Location>
    TUTTI_NOINLINE static void write_carefully(descriptor& d, Location location, word value) {
        memory::orec& r = location.orec();
        if (const word locked = r.load(std::memory_order_relaxed); d.owns(locked)) {
            const std::uint32_t entry = redo::find_under(d, location, locked);
            if (entry == memory::no_entry) return redo::add_under(d, location, memory::entry_of(locked), value);
            redo::save_for_parent(d, entry);
            return redo::put(d.writes[entry], location, value);
        }
        d.writes.reserve_one();
        add(d, location, value, time_based::acquire(d, r, d.writes.size(), true));
    }

    static abort_cause prepare(descriptor& d) noexcept { return time_based::decide(d); }

    static void publish(descriptor& d) noexcept {
        time_based::announce(d);
        redo::publish(d);
        end(d);
    }

    static void end(descriptor& d) noexcept { time_based::end(d); }

    static void roll_back(descriptor& d) noexcept {
        for (const memory::write_entry& e : d.writes) {
            if (e.version != memory::no_version) e.orec->store(e.version, std::memory_order_release);
        }
        d.writes.clear();
        d.overwritten.clear();
        d.wrote_plain = false;
        end(d);
    }

    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        redo::roll_back_to_savepoint(d, mark, [&](const memory::write_entry& e) {
            if (e.version != memory::no_version) {
                e.orec->store(time_based::before(d, e, d.strict()), std::memory_order_release);
            } else {
                // The newest entry of a chain comes directly after the head, so only the head has to be changed.
                d.writes[memory::entry_of(e.orec->load(std::memory_order_relaxed))].next = e.next;
            }
        });
    }

    static void draw_again(descriptor& d) noexcept { time_based::draw_again(d); }
    static bool unchanged(descriptor& d) noexcept { return time_based::unchanged(d); }
    static bool become(descriptor& d, memory::status) { return time_based::become(d); }
    static void refresh(descriptor& d) { time_based::refresh(d); }
    static void renew_clock(descriptor& d) noexcept { try_new_era(d); }
    static word load_outside(descriptor& d, const detail::cell& cell) noexcept {
        return time_based::load_outside<in_place>(d, cell);
    }

private:
    /// Adds the entry whose number is in the orec's lock word. REQUIRES: memory for the entry is reserved.
    template <class Location>
    static void add(descriptor& d, const Location& location, word value, time_based::taken t) noexcept {
        d.writes.push_reserved({location.address(), &location.orec(), location.spread(value), t.version,
                                memory::no_entry, location.bytes(), t.marked});
        if constexpr (Location::is_plain) d.wrote_plain = true;
    }
};

}  // namespace tutti::algorithms
