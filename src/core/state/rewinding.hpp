// Whether partial roll-backs pay.
//
// A partial roll-back saves the work before its block, and pays by keeping what was taken there while it waits and
// tries again. The attempt's end tells whether it paid: an attempt that commits has saved work, one that starts over
// after all has kept others waiting for nothing. Where conflicts come late and on one place, nearly all attempts
// commit; where they come anywhere, and with more threads than processors, most do not, and starting over at once is up
// to four times faster.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::core {

/// What one context has found. Attempts without a partial roll-back do not change it.
class rewinding {
public:
    /// Whether to try one at a conflict. While they do not pay, one conflict in `probe` tries it: times change.
    [[nodiscard]] bool worthwhile() noexcept { return balance_ >= 0 || ++declined_ % probe == 0; }

    void note_commit() noexcept { balance_ = std::min(balance_ + 1, furthest); }
    void note_failure() noexcept { balance_ = std::max(balance_ - 1, -furthest); }

private:
    static constexpr int furthest = 8;
    static constexpr unsigned probe = 32;

    int balance_ = furthest;
    unsigned declined_ = 0;
};

}  // namespace tutti::core
