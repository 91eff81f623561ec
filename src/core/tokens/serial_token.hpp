// The serial token: which transaction is serial-irrevocable, that is irrevocable with no other beside it. There is one
// token, and its owner has the irrevocable slot as well. modes/serial.hpp takes it and waits for it.
#pragma once

#include "core/tokens/bias.hpp"

namespace tutti::core {

inline constinit detail::shared<std::uint32_t> serial_owner{0};  // descriptor number + 1, or 0

/// For a context that has just begun. Acquire: if it finds no owner, it sees what the last one did.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool somebody_may_be_serial(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return serial_owner.load(std::memory_order_acquire) != 0 || (biased != 0 && biased != d.bias.word_as_owner);
}

/// Others may begin again. REQUIRES: d.serial.
void end_serial(descriptor& d) noexcept;

/// Gives back d's slot, and before it the serial token if d has that. REQUIRES: d.strict().
void give_back_tokens(descriptor& d) noexcept;

}  // namespace tutti::core
