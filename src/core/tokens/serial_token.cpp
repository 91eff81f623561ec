#include "core/tokens/serial_token.hpp"

#include "core/state/ancestry.hpp"
#include "core/state/fault.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {
namespace {

#if defined(TUTTI_INTERLEAVE)
// Small, so that small programs reach these paths.
constexpr word transactions_between_takes = ~word{0};
constexpr std::uint32_t fences_in_vain = 1;
#else
/// A context takes the token often if it takes it again within this number of its transactions. A heavy fence costs as
/// much as some hundred full ones.
constexpr word transactions_between_takes = 256;
/// After this number of fenced begins of one context, during which no context took the token, begins stop fencing.
constexpr std::uint32_t fences_in_vain = 4096;
#endif

token_taken take(descriptor& d, bool seizes) noexcept {
    const bool often = d.own_sequence - d.takes.latest < transactions_between_takes;
    const word own = (d.id + 1) | (often ? begins_fence : 0);
    word seen = serial_token.load(std::memory_order_relaxed);
    do {
        if (serial_owner_in(seen) != nullptr && !seizes) return token_taken::no;
    } while (!serial_token.compare_exchange(seen, ((seen & ~(serial_owner_mask | world_is_still)) + one_take) | own,
                                            std::memory_order_seq_cst));  // T1, T2
    d.takes.latest = d.own_sequence;
    if ((seen & world_is_still) != 0) return token_taken::still;
    return (seen & begins_have_fenced) != 0 ? token_taken::openly : token_taken::quietly;
}

/// Returns the token's value after an owner that was alone.
word after_owner(word token) noexcept {
    if ((token & begins_have_fenced) == 0) return 0;  // without the count, because begins compare the token with 0
    return (token & ~serial_owner_mask) | world_is_still;
}

}  // namespace

token_taken try_serial_token(descriptor& d) noexcept { return take(d, false); }
token_taken seize_serial_token(descriptor& d) noexcept { return take(d, true); }

void note_begins_have_fenced(const descriptor& d) noexcept {
    word mine = serial_token.load(std::memory_order_relaxed);
    if (serial_owner_in(mine) != &d) return;  // the token has been seized, and its new owner fences for itself
    if ((mine & begins_fence) != 0)
        serial_token.compare_exchange(mine, mine | begins_have_fenced, std::memory_order_acq_rel);
}

void take_often(descriptor& d) noexcept { d.takes.latest = d.own_sequence; }

bool begin_under(descriptor& d, word token) noexcept {
    if ((token & world_is_still) != 0) {
        if (broken(fault::begin_in_a_still_world)) return true;
        d.takes.fences_in_vain = 0;
        return serial_token.compare_exchange(token, token & ~world_is_still, std::memory_order_seq_cst);  // T4
    }
    if (std::exchange(d.takes.seen, token) != token) d.takes.fences_in_vain = 0;
    if (++d.takes.fences_in_vain >= fences_in_vain) {
        d.takes.fences_in_vain = 0;
        return serial_token.compare_exchange(token, 0, std::memory_order_seq_cst);  // T2
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
    // This owner, or the one before it in a world that has stood still since, has waited for every context that
    // registered before; and none has registered since.
    wake_all_waiters();
    serial_token.store(after_owner(mine), std::memory_order_release);
}

void give_back_tokens(descriptor& d) noexcept {
    if (d.serial) end_serial(d);
    if (d.strict()) release_slot(d);
}

void forget_serial_others(const descriptor* self) noexcept {
    const descriptor* const owner = serial_owner();
    if (owner != nullptr && !is_of(*owner, self)) serial_token.store(0, std::memory_order_relaxed);
}

}  // namespace tutti::core
