// wt-etl: the first write of a variable locks its orec, and the value goes to memory immediately. A commit stores no
// values, and reads of own writes are plain loads; a roll-back costs more.
//
// Blocks of the language run under wt-etl. Their barriers inline this algorithm's reads, and its writes under orecs
// that the transaction already owns (src/itm/access.hpp). So a change of these reads or writes needs the same change
// there.
#pragma once

#include "algorithms/new_era.hpp"
#include "algorithms/undo.hpp"

namespace tutti::algorithms {

struct wt_etl {
    static constexpr std::string_view name = "wt-etl";
    static constexpr std::string_view summary = "encounter-time locking, write-through with an undo log";
    static constexpr bool privatizes_by_waiting = true;
    static constexpr bool in_place = true;
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
            if constexpr (Location::is_plain) {
                if (d.frame_->parent != nullptr) {
                    redo::note_read_under(d, location, locked, redo::find_under(d, location, locked));
                }
            }
            return location.read();
        });
    }

    template <class Location>
    TUTTI_ALWAYS_INLINE static void write(descriptor& d, const Location& location, word value) {
        memory::orec& r = location.orec();
        if (const word locked = r.load(std::memory_order_relaxed); d.owns(locked)) {
            return undo::write_owned(d, location, locked, value);
        }
        d.writes.reserve_one();
        undo::write_taken(d, location, time_based::acquire(d, r, d.writes.size(), true), value);
    }

    static abort_cause prepare(descriptor& d) noexcept { return time_based::decide(d); }

    static void publish(descriptor& d) noexcept {
        time_based::announce(d);
        undo::publish(d);
        end(d);
    }
    static void end(descriptor& d) noexcept { time_based::end(d); }
    static void roll_back(descriptor& d) noexcept {
        undo::roll_back(d);
        end(d);
    }
    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        undo::roll_back_to_savepoint(d, mark);
    }

    static void draw_again(descriptor& d) noexcept { time_based::draw_again(d); }
    static bool unchanged(descriptor& d) noexcept { return time_based::unchanged(d); }
    static bool become(descriptor& d, memory::status) { return time_based::become(d); }
    static void refresh(descriptor& d) { time_based::refresh(d); }
    static void renew_clock(descriptor& d) noexcept { try_new_era(d); }
    static word load_outside(descriptor& d, const detail::cell& cell) noexcept {
        return time_based::load_outside<in_place>(d, cell);
    }
};

}  // namespace tutti::algorithms
