#include "core/tokens/serial_token.hpp"

#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {
namespace {

#if defined(TUTTI_INTERLEAVE)
// These constants are small, so that small test programs reach these paths.
constexpr word transactions_between_takes = ~word{0};
constexpr std::uint32_t fences_in_vain = 1;
#else
/// A context counts as a frequent taker if it takes the token again within this number of its transactions. A heavy
/// fence costs as much as some hundred full fences.
constexpr word transactions_between_takes = 256;
/// After this number of fenced begins of one context, during which no context took the token, begins stop fencing.
constexpr std::uint32_t fences_in_vain = 4096;
#endif

take_result take(descriptor& d, bool seizes) noexcept {
    const bool often = d.own_sequence - d.serial_takes.latest < transactions_between_takes;
    const word own = (d.id + 1) | (often ? begins_fence : 0);
    word seen = serial_token.load(std::memory_order_relaxed);
    do {
        if (serial_owner_in(seen) != nullptr && !seizes) return take_result::has_owner;
    } while (!serial_token.compare_exchange(seen,
                                            ((seen & ~(serial_owner_mask | world_is_stopped)) + take_count_unit) | own,
                                            std::memory_order_seq_cst));  // SER1, SER2
    d.serial_takes.latest = d.own_sequence;
    d.serial_takes.handlers_were_finished = (seen & world_is_stopped) != 0;  // HND3
    if ((seen & world_is_stopped) != 0) return take_result::world_stopped;
    return (seen & begins_have_fenced) != 0 ? take_result::begins_fenced : take_result::begins_unfenced;
}

/// Returns true if d's context still has handlers to run after the end of d's transaction (HND3). Also returns true if
/// a transaction around d's is running (SER4).
bool leaves_something_to_run(const descriptor& d) noexcept {
    if ((d.slow_commit & slow_commit_actions) != 0) return true;
    for (const descriptor* o = &d; o != nullptr; o = o->outer) {
        if (o->unfinished_handlers.load(std::memory_order_relaxed) != 0 || (o != &d && o->running())) return true;
    }
    return false;
}

/// Returns the value that the token gets when d, an owner that was alone, ends.
word after_owner(const descriptor& d, word token) noexcept {
    if ((token & begins_have_fenced) == 0) return 0;  // without the count, because begins compare the token with 0
    const bool stops = d.serial_takes.handlers_were_finished && !leaves_something_to_run(d) &&
                       biased_owner.load(std::memory_order_seq_cst) == 0;  // BIA7
    return (token & ~serial_owner_mask) | (stops ? world_is_stopped : 0);
}

}  // namespace

take_result try_serial_token(descriptor& d) noexcept { return take(d, false); }
take_result seize_serial_token(descriptor& d) noexcept { return take(d, true); }

void note_begins_have_fenced(const descriptor& d) noexcept {
    word mine = serial_token.load(std::memory_order_relaxed);
    if (serial_owner_in(mine) != &d) return;  // the token has been seized, and its new owner fences for itself
    if ((mine & begins_fence) != 0)
        serial_token.compare_exchange(mine, mine | begins_have_fenced, std::memory_order_acq_rel);
}

void mark_serial_frequent(descriptor& d) noexcept { d.serial_takes.latest = d.own_sequence; }

bool begin_under(descriptor& d, word token) noexcept {
    if ((token & world_is_stopped) != 0) {
        if (injected(fault::begin_in_a_stopped_world)) return true;
        d.serial_takes.fences_in_vain = 0;
        return serial_token.compare_exchange(token, token & ~world_is_stopped, std::memory_order_seq_cst);  // SER4
    }
    if (std::exchange(d.serial_takes.seen, token) != token) d.serial_takes.fences_in_vain = 0;
    if (++d.serial_takes.fences_in_vain >= fences_in_vain) {
        d.serial_takes.fences_in_vain = 0;
        return serial_token.compare_exchange(token, 0, std::memory_order_seq_cst);  // SER2
    }
    return true;
}

void drop_serial_token(descriptor& d) noexcept {
    word mine = serial_token.load(std::memory_order_relaxed);
    while (serial_owner_in(mine) == &d) {  // otherwise the token has been seized
        const word without = (mine & begins_have_fenced) != 0 ? mine & ~serial_owner_mask : 0;
        if (serial_token.compare_exchange(mine, without, std::memory_order_acq_rel)) return;
    }
}

// No other context changes the word while its owner is alone.
void end_serial(descriptor& d) noexcept {
    d.serial = false;
    const word mine = serial_token.load(std::memory_order_relaxed);
    // The biased owner runs serially without the token.
    if (serial_owner_in(mine) != &d) return;
    // All sleepers are known. This owner has waited for every context that registered before, or an earlier owner has
    // done so and the world has stayed stopped since then. No context has registered since.
    wake_all_waiters();
    serial_token.store(after_owner(d, mine), std::memory_order_release);
}

void release_tokens(descriptor& d) noexcept {
    if (d.serial) end_serial(d);
    if (d.strict()) release_slot(d);
}

void forget_serial_others(const descriptor* self) noexcept {
    const descriptor* const owner = serial_owner();
    if (owner != nullptr && !shares_context(*owner, self)) serial_token.store(0, std::memory_order_relaxed);
}

}  // namespace tutti::core
