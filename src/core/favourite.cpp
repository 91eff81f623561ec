#include "core/favourite.hpp"

#include <optional>

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/attention.hpp"
#include "core/execution.hpp"
#include "core/fault.hpp"
#include "core/interrupt.hpp"
#include "core/waiting.hpp"

namespace tutti::core {
namespace {

constexpr word dismissed = 1;

// V5
constinit detail::shared<std::uint32_t> waiting_to_begin{0};

// The sequence of the favourite's latest attempt that was to run alone; stored before the state that has it.
constinit detail::shared<word> attempt_alone{0};

descriptor& owner_of(word seen) noexcept {
    return descriptor::of(memory::activity_of(static_cast<std::uint32_t>(seen >> 32) - 1));
}
word word_of(const descriptor& d) noexcept { return word{d.id + 1} << 32 | word{d.favours & 0x7fffffffU} << 1; }

/// How many transactions all others have begun; nothing if one of them runs.
std::optional<word> begun_by_others(const descriptor& d) noexcept {
    word sum = 0;
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        if (id == d.id) continue;
        const word state = memory::activity_of(id).state.load(std::memory_order_acquire);
        if (memory::is_running(state)) return std::nullopt;
        sum += memory::sequence_of(state);
    }
    return sum;
}

/// Who sleeps in retry, which is idle, is woken by records, and code without barriers changes none.
bool somebody_sleeps() noexcept { return (attention.load(std::memory_order_relaxed) & attention_waiters) != 0; }

bool become_favourite(descriptor& d) noexcept {
    const std::optional<word> before = begun_by_others(d);
    if (!before || std::exchange(d.begun_by_others, *before) != *before || somebody_sleeps()) return false;
    ++d.favours;  // V4
    word none = 0;
    if (!favourite.compare_exchange(none, word_of(d), std::memory_order_seq_cst)) return false;
    base::heavy_fence();  // V2; partner: the fence between the state and a look at the word in transaction::begin
    // V5, in this order: who no longer waits has begun, and is found; or it looks at the word from now on.
    if ((waiting_to_begin.load(std::memory_order_seq_cst) == 0 && begun_by_others(d) == before) ||
        broken(fault::favourite_without_second_look)) {
        d.favour = word_of(d);
        return true;
    }
    word mine = word_of(d);
    favourite.compare_exchange(mine, 0, std::memory_order_seq_cst);  // or who dismisses it does so
    return false;
}

}  // namespace

bool begin_as_favourite(descriptor& d) {
    const bool is_it = d.favour != 0 && favourite.load(std::memory_order_relaxed) == d.favour;
    if (!is_it && (d.algorithm->one_at_a_time || d.hooks != nullptr || !become_favourite(d))) {
        d.until_favoured = blocks_between_looks;
        return false;
    }
    d.alone = true;
    reset_attempt(d);
    d.logging = true;
    attempt_alone.store(d.own_sequence, std::memory_order_relaxed);
    d.algorithm->begin(d);  // the state, and a light fence
    // V1; partner: heavy_fence in dismiss
    if (favourite.load(std::memory_order_relaxed) == d.favour || broken(fault::favourite_although_dismissed)) [[likely]]
        return true;
    d.alone = false;
    make_idle(d);
    d.until_favoured = blocks_between_looks;
    return false;
}

void dismiss(descriptor& d, word seen) noexcept {
    if ((seen & dismissed) == 0 && !favourite.compare_exchange(seen, seen | dismissed, std::memory_order_seq_cst))
        return;
    seen |= dismissed;
    waiting_to_begin.fetch_add(1, std::memory_order_seq_cst);
    base::heavy_fence();  // V1; partner: light_fence in transaction::begin
    descriptor& other = owner_of(seen);
    const word state = other.state.load(std::memory_order_acquire);
    // Acquire above: its number is that of this attempt, if it was to run alone.
    bool is_ended = true;
    if (memory::is_running(state) && memory::sequence_of(state) == attempt_alone.load(std::memory_order_relaxed)) {
        wait_for(d, other, state);
        is_ended = is_over(other, state);
    }
    if (is_ended) favourite.compare_exchange(seen, 0, std::memory_order_seq_cst);  // V3
    waiting_to_begin.fetch_add(~std::uint32_t{0}, std::memory_order_relaxed);
}

without_favourite::without_favourite(descriptor& d) noexcept {
    waiting_to_begin.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
        const word seen = favourite.load(std::memory_order_seq_cst);
        if (seen == 0 || may_run_beside(d, seen)) return;
        if (ends_here(d)) {
            is_so_ = false;
            return;
        }
        dismiss(d, seen);
    }
}

without_favourite::~without_favourite() { waiting_to_begin.fetch_add(~std::uint32_t{0}, std::memory_order_release); }

void forget_other_favourites(const descriptor* self) noexcept {
    waiting_to_begin.store(0, std::memory_order_relaxed);
    const word seen = favourite.load(std::memory_order_relaxed);
    if (seen != 0 && &owner_of(seen) != self) favourite.store(0, std::memory_order_relaxed);
}

bool may_run_beside(const descriptor& d, word seen) noexcept {
    const descriptor& owner = owner_of(seen);
    return &owner == &d || encloses(owner, d) || encloser_owns(d);
}

}  // namespace tutti::core
