#include "core/state/holding_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

namespace tutti::core {

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
    put({hash, &h});
    ++held_;
}

void holding_table::remove(const abstract_holding& h, std::uint64_t hash) noexcept {
    std::size_t hole = home(hash);
    while (begin()[hole].of != &h) hole = behind(hole);
    for (std::size_t at = behind(hole); begin()[at].of != nullptr; at = behind(at)) {
        // The entry moves up unless its search begins behind the hole.
        const std::size_t mask = slots() - 1;
        if (((at - home(begin()[at].hash)) & mask) < ((at - hole) & mask)) continue;
        begin()[std::exchange(hole, at)] = begin()[at];
    }
    begin()[hole] = {};
    --held_;
    if (bits_ > fewest_bits && held_ < slots() / 8) resize(bits_ - 1);
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
    // The child sees the thread that was changing the table as a signal handler would: by the fence in resize, `many_`
    // no longer points to what that thread is about to free.
    std::free(std::exchange(many_, nullptr));
    std::fill(std::begin(few_), std::end(few_), slot{});
    held_ = 0;
    bits_ = fewest_bits;
}

}  // namespace tutti::core
