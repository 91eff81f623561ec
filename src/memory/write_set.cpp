#include "memory/write_set.hpp"

#include <algorithm>

namespace tutti::memory {
namespace {

constexpr std::size_t max_linear_search = 8;

std::size_t hash(const word* address) noexcept {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(address) >> 3) * 0x9E3779B97F4A7C15U >> 20);
}

}  // namespace

word write_index::filter_bit(const word* address) noexcept { return word{1} << (hash(address) & 63); }

std::uint32_t write_index::find(const log<write_entry>& entries, const word* address) const noexcept {
    if ((filter_ & filter_bit(address)) == 0) return no_entry;
    if (slots_.empty()) {
        for (const write_entry* e = entries.end(); e-- != entries.begin();) {
            if (e->address == address) return static_cast<std::uint32_t>(e - entries.begin());
        }
        return no_entry;
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(address) & mask;; at = (at + 1) & mask) {
        const std::uint32_t slot = slots_.begin()[at];
        if (slot == 0) return no_entry;
        if (entries.begin()[slot - 1].address == address) return slot - 1;
    }
}

void write_index::add(const log<write_entry>& entries) {
    const write_entry& last = entries.end()[-1];
    const std::size_t count = entries.size();
    if (count > max_linear_search && count * 2 > slots_.size()) {
        grow(entries);
    } else if (!slots_.empty()) {
        insert(last.address, static_cast<std::uint32_t>(count - 1));
    }
    filter_ |= filter_bit(last.address);
}

void write_index::reserve(const log<write_entry>& entries, std::size_t more) {
    // If an algorithm does not use the index, the filter is empty. Then the index needs no room.
    const std::size_t indexed = filter_ != 0 ? entries.size() : 0;
    const std::size_t count = indexed + more;
    if (count <= max_linear_search) return;
    // The size of a table doubles until at most half of the slots are used, so a table has at most four slots per
    // entry.
    const std::size_t max_slots = std::max<std::size_t>(64, count * 4);
    if (max_slots > slots_.size()) slots_.reserve(max_slots - slots_.size());
}

void write_index::insert(const word* address, std::uint32_t entry) noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash(address) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = entry + 1;
}

void write_index::grow(const log<write_entry>& entries) {
    const std::size_t wanted = std::max<std::size_t>(64, slots_.size() * 2);
    slots_.reserve(wanted - slots_.size());
    slots_.clear();
    for (std::size_t i = 0; i < wanted; ++i) slots_.push_reserved(0);
    for (std::size_t i = 0; i < entries.size(); ++i) insert(entries.begin()[i].address, static_cast<std::uint32_t>(i));
}

void write_index::drop(const log<write_entry>& entries, std::size_t kept) noexcept {
    const std::size_t dropped = entries.size() - kept;
    // Entries are removed newest first, as the proof at write_index requires.
    for (std::size_t i = entries.size(); !slots_.empty() && i-- > kept;) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash(entries.begin()[i].address) & mask;
        while (slots_[at] != i + 1) at = (at + 1) & mask;
        slots_[at] = 0;
    }
    // A superfluous bit in the filter only costs a needless search. If more entries are kept than dropped, rebuilding
    // the filter would cost more.
    if (kept > std::max(dropped, max_linear_search)) return;
    filter_ = 0;
    for (std::size_t i = 0; i < kept; ++i) filter_ |= filter_bit(entries.begin()[i].address);
}

void write_index::clear() noexcept {
    filter_ = 0;
    slots_.clear();
}

}  // namespace tutti::memory
