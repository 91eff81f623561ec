// The decision whether partial roll-backs pay.
//
// A partial roll-back saves the work before its block. Its cost is that the attempt keeps its locks while it waits and
// tries again. The end of the attempt shows whether the partial roll-back has paid. If the attempt commits, the partial
// roll-back has saved work. If the attempt starts over after all, the partial roll-back has delayed other transactions
// for nothing. If conflicts happen late and at one place, nearly all attempts commit. If conflicts happen anywhere, and
// threads outnumber processors, most attempts do not commit, and starting over at once is up to four times faster.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::core {

/// The statistics of one context. Attempts without a partial roll-back do not change them.
class partial_rollback_predictor {
public:
    /// Returns true if a conflict should try a partial roll-back. While partial roll-backs do not pay, one conflict in
    /// `probe` still tries one, because the load may change.
    [[nodiscard]] bool is_worthwhile() noexcept { return balance_ >= 0 || ++declined_ % probe == 0; }

    void note_commit() noexcept { balance_ = std::min(balance_ + 1, max_balance); }
    void note_failure() noexcept { balance_ = std::max(balance_ - 1, -max_balance); }

private:
    static constexpr int max_balance = 8;
    static constexpr unsigned probe = 32;

    int balance_ = max_balance;
    unsigned declined_ = 0;
};

}  // namespace tutti::core
