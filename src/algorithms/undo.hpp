// Write-through: values go to memory immediately, under a locked orec, and the write set holds the old values. This
// file has the code that wt-etl and the exclusive algorithms share.
//
// A reader may load an uncommitted value between two loads of the orec, and must not use the value even if both loads
// are equal. So an orec whose value was written gets a version that no snapshot admits yet (version_clock.hpp, 8). This
// also applies when the old value is restored: a roll-back draws a version for this purpose.
#pragma once

#include "algorithms/redo.hpp"

namespace tutti::algorithms::undo {

using core::fault;
using core::injected;
using memory::no_entry;
using memory::no_version;
using memory::write_entry;

/// Logs private memory, which has no orec to release and is only restored when the block is rolled back.
inline void note_private(descriptor& d, word* address, word value, std::uint8_t bytes) {
    d.writes.push({address, nullptr, value, no_version, no_entry, bytes, false});
}

/// Adds to an entry those bytes that were not written before. `there` is the word's present value.
inline void add_bytes(descriptor& d, std::uint32_t entry, const memory::plain_location& location, word there) {
    write_entry& e = d.writes[entry];
    const auto fresh = static_cast<std::uint8_t>(location.bytes() & ~e.bytes);
    if (fresh == 0) return;
    // These bytes may have been written without a barrier since the entry was made, and another entry may already have
    // their old value.
    if (entry < d.notes_end) return note_private(d, location.address(), there, fresh);
    e.value = (e.value & ~memory::bit_mask_of(fresh)) | (there & memory::bit_mask_of(fresh));
    e.bytes |= fresh;
}

/// Writes under an orec that d holds. `locked` is the orec's word.
template <class Location>
void write_owned(descriptor& d, const Location& location, word locked, word value) {
    const word there = location.spread(location.read());
    const std::uint32_t entry = redo::find_under(d, location, locked);
    if (entry == no_entry) {
        redo::add_under(d, location, memory::entry_of(locked), location.read());
    } else {
        // In a nested block, a roll-back restores the parent's value, because it restores in the reverse order of the
        // entries.
        if (d.is_of_parent(entry)) note_private(d, location.address(), there, location.bytes());
        if constexpr (Location::is_plain) add_bytes(d, entry, location, there);
    }
    location.write(value);
}

/// Executes the first write under an orec that was just taken. REQUIRES: d.writes has memory for one more entry.
template <class Location>
TUTTI_ALWAYS_INLINE void write_taken(descriptor& d, const Location& location, const time_based::taken& t,
                                     word value) noexcept {
    d.writes.push_reserved({location.address(), &location.orec(), location.spread(location.read()), t.version, no_entry,
                            location.bytes(), t.marked});
    location.write(value);
}

/// Restores bytes, except those in stack frames that the roll-back jumps over, because frames of the roll-back itself
/// may use that memory now.
inline void restore(const descriptor& d, const write_entry& e) noexcept {
    if (d.on_dead_stack(e.address)) [[unlikely]]
        return;
    memory::store_masked(e.address, e.value, e.bytes);
}

/// Releases the orecs; the values are already in memory. REQUIRES: decide has drawn d.algorithm_data.commit_version.
inline void publish(descriptor& d) noexcept {
    for (const write_entry& e : d.writes) {
        if (e.version != no_version) e.orec->store(d.algorithm_data.commit_version, std::memory_order_release);
    }
    d.notes_end = 0;
}

inline void roll_back(descriptor& d) noexcept {
    if (d.writes.empty()) return;
    const auto restore_all = [&d] {
        for (const write_entry* e = d.writes.end(); e-- != d.writes.begin();) restore(d, *e);
    };
    const auto release_all = [&d] {
        const word fresh = version_clock::draw(d).version;
        for (const write_entry& e : d.writes) {
            if (e.version != no_version) e.orec->store(fresh, std::memory_order_release);
        }
    };
    if (injected(fault::release_before_publish)) {
        release_all();
        restore_all();
    } else {
        if (!injected(fault::leave_dirty_memory)) restore_all();
        release_all();
    }
    d.writes.clear();
    d.notes_end = 0;
}

/// Drops the writes of nested blocks since `mark`.
///
/// The parent may have read under an orec that is released here with a new version. This is harmless, because the
/// parent accepts its own versions. But a descriptor whose number is too large for a version has no versions of its
/// own. An attempt with such a descriptor starts over as irrevocable: its reads are then marked and need no validation.
inline void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark) noexcept {
    if (d.writes.size() == mark.writes) return;
    d.notes_end = std::min(d.notes_end, mark.writes);
    for (const write_entry* e = d.writes.end(); e-- != d.writes.begin() + mark.writes;) restore(d, *e);
    const word fresh = version_clock::draw(d).version;
    while (d.writes.size() > mark.writes) {
        const write_entry& e = d.writes.back();
        if (e.orec == nullptr) {
            // private memory: it has no orec to release
        } else if (e.version == no_version) {
            d.writes[memory::entry_of(e.orec->load(std::memory_order_relaxed))].next = e.next;
        } else {
            e.orec->store(e.marked && d.strict() ? memory::make_marked(fresh, d.slot) : fresh,
                          std::memory_order_release);
        }
        d.writes.pop();
    }
    if (!memory::written_by(fresh, d.own_writer_) && !d.cannot_be_killed()) {
        d.run.next_mode = memory::status::irrevocable;
        d.run.irrevocable_reason = "nested roll-back without a writer number";
        d.kill_request.store(d.own_sequence, std::memory_order_relaxed);
    }
}

}  // namespace tutti::algorithms::undo
