#include "itm/fatal_error.hpp"

#include <cstdio>
#include <string_view>

namespace tutti::itm {

void die_in_undo(const descriptor& d, const block& b) noexcept {
    char where[256];
    char message[512];
    describe(b.saved.resume, where, sizeof where);
    if (!d.is_irrevocable()) {
        std::snprintf(
            message, sizeof message,
            "the block at %s is cancelled or restarted while it runs without barriers, because no other thread uses "
            "transactions: its effects cannot be undone; a block with a __transaction_cancel keeps its barriers",
            where);
    } else {
        const char* const why = runtime_state_of(d).serial_reason;
        std::snprintf(
            message, sizeof message,
            "the block at %s is cancelled or restarted after it became irrevocable (%s): its effects cannot be "
            "undone; cancel before the unsafe operation",
            where, why != nullptr ? why : "irrevocable from its start on");
    }
    api::panic(message);
}

void die_in_step(const block& b, const char* step, const char* why) noexcept {
    constexpr std::string_view ours = "tutti: ";  // api::panic adds this prefix
    if (std::string_view{why}.starts_with(ours)) why += ours.size();
    char where[256];
    char message[768];
    std::snprintf(message, sizeof message, "the block at %s cannot %s: %s",
                  describe(b.saved.resume, where, sizeof where), step, why);
    api::panic(message);
}

}  // namespace tutti::itm
