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

/// Returns true if `h` is the first holding of its lock. `before` of the first holding is the last one, and only the
/// last one has a null `next`.
bool is_first(const abstract_holding& h) noexcept { return h.before->next == nullptr; }

}  // namespace

holding_table::finding holding_table::first(const lock_name& name, std::uint64_t hash) const noexcept {
    std::size_t looks = 1;
    for (std::size_t at = home(hash); begin()[at].of != nullptr; at = behind(at), ++looks) {
        const slot& s = begin()[at];
        if (s.hash == hash && s.of->name == name && is_first(*s.of)) return {s.of, looks};
    }
    return {nullptr, looks};
}

holding_table::finding holding_table::held_by(const descriptor& who, const lock_name& name,
                                              std::uint64_t hash) const noexcept {
    auto [found, looks] = first(name, hash);
    if (found == nullptr || found->who == &who) return {found, looks};
    const std::uint64_t own = hash_for(&who, hash);
    ++looks;
    for (std::size_t at = home(own); begin()[at].of != nullptr; at = behind(at), ++looks) {
        const slot& s = begin()[at];
        if (s.hash == own && s.of->who == &who && s.of->name == name) return {s.of, looks};
    }
    return {nullptr, looks};
}

std::size_t holding_table::place_of(const abstract_holding& h, std::uint64_t hash) const noexcept {
    std::size_t at = home(hash);
    while (begin()[at].of != &h) at = behind(at);
    return at;
}

void holding_table::put(const slot& s) noexcept {
    std::size_t at = home(s.hash);
    while (begin()[at].of != nullptr) at = behind(at);
    begin()[at] = s;
}

void holding_table::make_room() {
    if (2 * (held_ + 1) > slots()) resize(bits_ + 1);
    if (held_ + 1 == slots()) throw std::bad_alloc{};  // a search ends at the slot that stays empty
}

void holding_table::insert(abstract_holding& h, std::uint64_t hash) noexcept {
    ++held_;
    abstract_holding* const front = first(h.name, hash).of;
    h.next = nullptr;
    if (front == nullptr) {
        h.before = &h;
        put({hash, &h});
        return;
    }
    h.before = std::exchange(front->before, &h);
    if (!h.comes_first()) {
        h.before->next = &h;
        put({hash_for(h.who, hash), &h});
    } else {
        h.next = front;
        begin()[place_of(*front, hash)].of = &h;
        put({hash_for(front->who, hash), front});
    }
}

void holding_table::remove(abstract_holding& h, std::uint64_t hash) noexcept {
    abstract_holding* const next = h.next;
    if (!is_first(h)) {
        erase(place_of(h, hash_for(h.who, hash)));
        h.before->next = next;
        abstract_holding* const behind_h = next != nullptr ? next : first(h.name, hash).of;
        behind_h->before = h.before;
    } else if (next == nullptr) {
        erase(place_of(h, hash));
    } else {
        // The next holding gives up its own slot and takes the slot of the first.
        erase(place_of(*next, hash_for(next->who, hash)));
        begin()[place_of(h, hash)].of = next;
        next->before = h.before;
    }
    --held_;
    if (bits_ > fewest_bits && held_ < slots() / 8) resize(bits_ - 1);
}

void holding_table::erase(std::size_t hole) noexcept {
    for (std::size_t at = behind(hole); begin()[at].of != nullptr; at = behind(at)) {
        // The entry moves up unless its search begins behind the hole.
        const std::size_t mask = slots() - 1;
        if (((at - home(begin()[at].hash)) & mask) < ((at - hole) & mask)) continue;
        begin()[std::exchange(hole, at)] = begin()[at];
    }
    begin()[hole] = {};
}

void holding_table::resize(unsigned bits) noexcept {
    slot* fresh = nullptr;
    if (bits > fewest_bits) {
        fresh = static_cast<slot*>(std::calloc(std::size_t{1} << bits, sizeof(slot)));
        if (fresh == nullptr) return;
    }
    slot few[std::size_t{1} << fewest_bits];
    std::swap_ranges(std::begin(few_), std::end(few_), std::begin(few));
    slot* const many = std::exchange(many_, fresh);
    const std::size_t count = slots();
    bits_ = bits;
    for (const slot *s = many != nullptr ? many : few, *end = s + count; s != end; ++s) {
        if (s->of != nullptr) put(*s);
    }
    std::atomic_signal_fence(std::memory_order_release);  // partner: attempt_fail
    std::free(many);
}

void holding_table::attempt_fail() noexcept {
    // The child sees the table in the state in which a signal handler of the changing thread would see it. By the fence
    // in resize, `many_` no longer points to memory that the thread is about to free.
    std::free(std::exchange(many_, nullptr));
    std::fill(std::begin(few_), std::end(few_), slot{});
    held_ = 0;
    bits_ = fewest_bits;
}

}  // namespace tutti::core
