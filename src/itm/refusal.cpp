#include "itm/refusal.hpp"

#include <cstdio>
#include <string_view>

namespace tutti::itm {

void refuse_undo(const descriptor& d, const block& b) noexcept {
    char where[256];
    char message[512];
    describe(b.at.resume, where, sizeof where);
    if (!d.is_irrevocable()) {
        std::snprintf(
            message, sizeof message,
            "the block at %s is cancelled or restarted while it runs without barriers, because no other thread uses "
            "transactions: its effects cannot be undone; a block with a __transaction_cancel keeps its barriers",
            where);
    } else {
        const char* const why = side_of(d).why;
        std::snprintf(
            message, sizeof message,
            "the block at %s is cancelled or restarted after it became irrevocable (%s): its effects cannot be "
            "undone; cancel before the unsafe operation",
            where, why != nullptr ? why : "it was so from its begin on");
    }
    api::refuse(message);
}

void refuse_step(const block& b, const char* step, const char* why) noexcept {
    constexpr std::string_view ours = "tutti: ";  // api::refuse adds this prefix
    if (std::string_view{why}.starts_with(ours)) why += ours.size();
    char where[256];
    char message[768];
    std::snprintf(message, sizeof message, "the block at %s cannot %s: %s", describe(b.at.resume, where, sizeof where),
                  step, why);
    api::refuse(message);
}

}  // namespace tutti::itm
