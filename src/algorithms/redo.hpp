// Write-back: new values wait in the write set, and memory changes only in publish. This file has the code that
// encounter-time and commit-time locking share.
#pragma once

#include "algorithms/time_based.hpp"

namespace tutti::algorithms::redo {

using core::fault;
using core::injected;
using memory::no_entry;
using memory::no_version;
using memory::orec;
using memory::write_entry;

/// Saves an entry of the parent that a nested block is about to change.
inline void save_for_parent(descriptor& d, std::uint32_t entry) {
    if (!d.is_of_parent(entry)) return;
    const write_entry& e = d.writes[entry];
    d.overwritten.push({entry, e.bytes, e.value});
}

template <class Location>
void put(write_entry& e, const Location& location, word value) noexcept {
    if constexpr (Location::is_plain) {
        const word bits = memory::bit_mask_of(location.bytes());
        e.value = (e.value & ~bits) | location.spread(value);
        e.bytes |= location.bytes();
    } else {
        e.value = value;
    }
}

/// Returns the entry of `location` under an orec that d locked with `locked`, or no_entry.
template <class Location>
std::uint32_t find_under(descriptor& d, const Location& location, word locked) noexcept {
    std::uint32_t entry = memory::entry_of(locked);
    if constexpr (Location::is_plain) {
        while (entry != no_entry && d.writes[entry].address != location.address()) entry = d.writes[entry].next;
    }
    return entry;
}

/// Logs the read of a nested block, under an orec that d locked with `locked`, of bytes that the block has not written
/// itself. The block's roll-back may release the orec, and the read then has to be validated like any other. So the
/// read is logged, and in a strict attempt also marked.
template <class Location>
void note_read_under(descriptor& d, const Location& location, word locked, std::uint32_t entry) {
    if constexpr (Location::is_plain) {
        if (d.frame_->parent == nullptr) return;
        if (entry != no_entry && (d.writes[entry].bytes & location.bytes()) == location.bytes()) return;
        d.log_read(location.orec());
        if (d.strict()) d.writes[memory::entry_of(locked)].marked = true;
    }
}

/// Adds an entry for another word under an orec that entry number `first` locked.
template <class Location>
void add_under(descriptor& d, const Location& location, std::uint32_t first, word value) {
    d.writes.reserve_one();
    const auto added = static_cast<std::uint32_t>(d.writes.size());
    d.writes.push_reserved({location.address(), &location.orec(), location.spread(value), no_version,
                            d.writes[first].next, location.bytes(), false});
    d.writes[first].next = added;
}

/// Writes for algorithms that lock at commit: does not take the orec, and finds the entry by address.
template <class Location>
void write_indexed(descriptor& d, const Location& location, word value) {
    if (const std::uint32_t entry = d.algorithm_data.index.find(d.writes, location.address()); entry != no_entry) {
        save_for_parent(d, entry);
        return put(d.writes[entry], location, value);
    }
    d.writes.push(
        {location.address(), &location.orec(), location.spread(value), no_version, no_entry, location.bytes(), false});
    try {
        d.algorithm_data.index.add(d.writes);
    } catch (const std::bad_alloc&) {
        d.writes.pop();
        throw;
    }
    if constexpr (Location::is_plain) d.wrote_plain = true;
}

/// Returns the value of `location` for an attempt that may have written it; `shared()` reads memory by the algorithm's
/// rules.
template <class Location, class Shared>
word read_indexed(descriptor& d, const Location& location, Shared&& shared) {
    const std::uint32_t entry = d.writes.empty() ? no_entry : d.algorithm_data.index.find(d.writes, location.address());
    if (entry == no_entry) return shared();
    const write_entry& e = d.writes[entry];
    if ((e.bytes & location.bytes()) == location.bytes()) return location.extract(e.value);
    const word own = memory::bit_mask_of(e.bytes);
    return location.extract((e.value & own) | (location.spread(shared()) & ~own));
}

/// Drops the writes of nested blocks since `mark`. `release(e)` releases the orec of a dropped entry that locked it.
template <class Release>
void roll_back_to_savepoint(descriptor& d, const detail::savepoint& mark, Release&& release) noexcept {
    while (d.overwritten.size() > mark.overwritten) {
        const memory::overwritten_entry& o = d.overwritten.back();
        d.writes[o.entry].value = o.value;
        d.writes[o.entry].bytes = o.bytes;
        d.overwritten.pop();
    }
    while (d.writes.size() > mark.writes) {
        release(d.writes.back());
        d.writes.pop();
    }
}

/// Stores the values, for algorithms without orecs. Not inlined: more callers of store_masked would make the compiler
/// inline less of it into the `publish` below, which belongs to the default algorithm.
TUTTI_NOINLINE inline void store_values(const descriptor& d) noexcept {
    for (const write_entry& e : d.writes) memory::store_masked(e.address, e.value, e.bytes);
}

/// Stores the values and releases the orecs under d.algorithm_data.commit_version. REQUIRES: all orecs are held.
TUTTI_ALWAYS_INLINE void publish(descriptor& d) noexcept {
    const auto release = [&d](const write_entry& e) {
        // Release: a reader that sees the version sees the value.
        if (e.version != no_version) e.orec->store(d.algorithm_data.commit_version, std::memory_order_release);
    };
    if (injected(fault::release_before_publish)) {
        for (const write_entry& e : d.writes) release(e);
        for (const write_entry& e : d.writes) memory::store_masked(e.address, e.value, e.bytes);
        return;
    }
    if (!d.wrote_plain) [[likely]] {
        // Each word has an orec of its own. Each orec may be released as soon as its word is stored, because the other
        // orecs are still locked.
        for (const write_entry& e : d.writes) {
            memory::store_bytes(e.address, 8, e.value);
            release(e);
        }
        return;
    }
    for (const write_entry& e : d.writes) memory::store_masked(e.address, e.value, e.bytes);
    for (const write_entry& e : d.writes) release(e);
    d.wrote_plain = false;
}

}  // namespace tutti::algorithms::redo
