// wb-ctl: as wb-etl, but a commit locks the orecs. Writers do not block each other while they run, but a conflict costs
// a whole transaction. After the first write of an attempt, every read has to search the write set for the address.
#pragma once

#include "algorithms/new_era.hpp"
#include "algorithms/redo.hpp"

namespace tutti::algorithms {

struct wb_ctl {
    static constexpr std::string_view name = "wb-ctl";
    static constexpr std::string_view summary = "commit-time locking, write-back";
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
        return redo::read_indexed(d, location, [&] {
            return time_based::read(d, location, [](word) -> word { base::panic("an orec is locked before commit"); });
        });
    }

    template <class Location>
    static void write(descriptor& d, const Location& location, word value) {
        redo::write_indexed(d, location, value);
        if (d.writes.size() == 1) {  // from now on, reads have to search the write set first
            d.inlined = false;
            d.set_bounds();
        }
    }

    static abort_cause prepare(descriptor& d) {
        for (std::size_t i = 0; i < d.writes.size(); ++i) {
            memory::orec& r = *d.writes[i].orec;
            if (d.owns(r.load(std::memory_order_relaxed))) continue;  // another word under the same orec
            const time_based::taken t = time_based::acquire(d, r, i, false);
            d.writes[i].version = t.version;
            d.writes[i].marked = t.marked;
        }
        return time_based::decide(d);
    }

    static void publish(descriptor& d) noexcept {
        time_based::announce(d);
        redo::publish(d);
        forget(d);
    }

    static void end(descriptor& d) noexcept { time_based::end(d); }

    static void roll_back(descriptor& d) noexcept {
        for (const memory::write_entry& e : d.writes) {
            if (e.version != memory::no_version) e.orec->store(e.version, std::memory_order_release);
        }
        d.writes.clear();
        d.overwritten.clear();
        forget(d);
    }

    static void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
        d.algorithm_data.index.drop(d.writes, mark.writes);
        redo::roll_back_to_savepoint(d, mark, [](const memory::write_entry&) {});
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
    static void forget(descriptor& d) noexcept {
        d.algorithm_data.index.clear();
        d.wrote_plain = false;
        end(d);
    }
};

}  // namespace tutti::algorithms
