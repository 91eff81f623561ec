#include "core/state/holding_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

namespace tutti::core {

namespace {

/// Returns the hash for the slot of a holding that is not the first of its lock. All bits of the name's hash and of the
/// holder affect the upper bits of the product.
std::uint64_t hash_for(const descriptor* who, std::uint64_t hash) noexcept {
    return (hash ^ reinterpret_cast<std::uintptr_t>(who) * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
}

/// Returns true if `h` is the first holding of its lock. `previous` of the first holding is the last one, and only the
/// last one has a null `next`.
bool is_first(const abstract_holding& h) noexcept { return h.previous->next == nullptr; }

}  // namespace

holding_table::search_result holding_table::first(const lock_name& name, std::uint64_t hash) const noexcept {
    std::size_t looks = 1;
    for (std::size_t at = home_slot(hash); begin()[at].holding != nullptr; at = next_slot(at), ++looks) {
        const slot& s = begin()[at];
        if (s.hash == hash && s.holding->name == name && is_first(*s.holding)) return {s.holding, looks};
    }
    return {nullptr, looks};
}

holding_table::search_result holding_table::held_by(const descriptor& who, const lock_name& name,
                                                    std::uint64_t hash) const noexcept {
    auto [found, looks] = first(name, hash);
    if (found == nullptr || found->holder == &who) return {found, looks};
    const std::uint64_t own = hash_for(&who, hash);
    ++looks;
    for (std::size_t at = home_slot(own); begin()[at].holding != nullptr; at = next_slot(at), ++looks) {
        const slot& s = begin()[at];
        if (s.hash == own && s.holding->holder == &who && s.holding->name == name) return {s.holding, looks};
    }
    return {nullptr, looks};
}

std::size_t holding_table::slot_of(const abstract_holding& h, std::uint64_t hash) const noexcept {
    std::size_t at = home_slot(hash);
    while (begin()[at].holding != &h) at = next_slot(at);
    return at;
}

void holding_table::insert_slot(const slot& s) noexcept {
    std::size_t at = home_slot(s.hash);
    while (begin()[at].holding != nullptr) at = next_slot(at);
    begin()[at] = s;
}

void holding_table::reserve_one() {
    if (2 * (held_ + 1) > slots()) resize(bits_ + 1);
    if (held_ + 1 == slots()) throw std::bad_alloc{};  // at least one slot stays empty, and a search ends there
}

void holding_table::insert(abstract_holding& h, std::uint64_t hash) noexcept {
    ++held_;
    abstract_holding* const front = first(h.name, hash).holding;
    h.next = nullptr;
    if (front == nullptr) {
        h.previous = &h;
        insert_slot({hash, &h});
        return;
    }
    h.previous = std::exchange(front->previous, &h);
    if (!h.precedes_sharers()) {
        h.previous->next = &h;
        insert_slot({hash_for(h.holder, hash), &h});
    } else {
        h.next = front;
        begin()[slot_of(*front, hash)].holding = &h;
        insert_slot({hash_for(front->holder, hash), front});
    }
}

void holding_table::remove(abstract_holding& h, std::uint64_t hash) noexcept {
    abstract_holding* const next = h.next;
    if (!is_first(h)) {
        erase(slot_of(h, hash_for(h.holder, hash)));
        h.previous->next = next;
        abstract_holding* const behind_h = next != nullptr ? next : first(h.name, hash).holding;
        behind_h->previous = h.previous;
    } else if (next == nullptr) {
        erase(slot_of(h, hash));
    } else {
        // The next holding leaves its own slot and moves to the slot of the first holding.
        erase(slot_of(*next, hash_for(next->holder, hash)));
        begin()[slot_of(h, hash)].holding = next;
        next->previous = h.previous;
    }
    --held_;
    if (bits_ > min_bits && held_ < slots() / 8) resize(bits_ - 1);
}

void holding_table::erase(std::size_t hole) noexcept {
    for (std::size_t at = next_slot(hole); begin()[at].holding != nullptr; at = next_slot(at)) {
        // The entry moves into the gap, unless its search begins behind the gap.
        const std::size_t mask = slots() - 1;
        if (((at - home_slot(begin()[at].hash)) & mask) < ((at - hole) & mask)) continue;
        begin()[std::exchange(hole, at)] = begin()[at];
    }
    begin()[hole] = {};
}

void holding_table::resize(unsigned bits) noexcept {
    slot* fresh = nullptr;
    if (bits > min_bits) {
        fresh = static_cast<slot*>(std::calloc(std::size_t{1} << bits, sizeof(slot)));
        if (fresh == nullptr) return;
    }
    slot few[std::size_t{1} << min_bits];
    std::swap_ranges(std::begin(inline_slots_), std::end(inline_slots_), std::begin(few));
    slot* const many = std::exchange(heap_slots_, fresh);
    const std::size_t count = slots();
    bits_ = bits;
    for (const slot *s = many != nullptr ? many : few, *end = s + count; s != end; ++s) {
        if (s->holding != nullptr) insert_slot(*s);
    }
    std::atomic_signal_fence(std::memory_order_release);  // partner: reset_after_fork
    std::free(many);
}

void holding_table::reset_after_fork() noexcept {
    // Another thread may have been at any point of a change during the fork. So the child sees the same state as a
    // signal handler of that thread would. By the fence in resize, `heap_slots_` no longer points to memory that the
    // thread was about to free.
    std::free(std::exchange(heap_slots_, nullptr));
    std::fill(std::begin(inline_slots_), std::end(inline_slots_), slot{});
    held_ = 0;
    bits_ = min_bits;
}

}  // namespace tutti::core
