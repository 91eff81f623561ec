// Running alone without asking: while only one of all contexts begins transactions, it is the favourite. Its blocks of
// the language need no barriers, because whoever else begins waits for its transaction to end first.
//
//   the favourite:  state = running; light fence; is the word still its own? then it runs alone
//   any other:      state = running; fence; is there a favourite? then idle again; dismisses it; heavy fence; waits
//                   until the transaction is over that it finds running alone; takes the word away; begins anew
//   to become it:   all others are idle, and have begun nothing since the last look; its word; heavy fence; looks again
//
// Invariants
//   V1  by base/fence.hpp the favourite sees that it is dismissed, or who dismisses it sees that its transaction runs,
//       and whether it is one that was to run alone
//   V2  likewise whoever becomes it finds those that have begun, or they find its word
//   V3  the word stays, dismissed, until the last transaction that may run alone is over: who finds none need not wait
//   V4  no word is used twice, so whoever takes one away is not late for the next
//   V5  nobody becomes it while another waits to begin: that one says so before it looks at the word, and who becomes
//       it looks for such after the heavy fence
// The favourite waits for nobody while it runs alone, so no cycle of waits passes through it.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

/// Its number and one (63 … 32), how often it became the favourite (31 … 1), whether it is dismissed (0). 0: there is
/// none.
inline constinit detail::shared<word> favourite{0};

/// So many blocks a context runs between two attempts to become the favourite, while it is not.
inline constexpr std::uint32_t blocks_between_looks = 4096;

/// Tries to begin an attempt of d that runs alone: as the favourite, or because nobody else has begun a transaction for
/// a while. It is optimistic in name and meets nobody. False: d is idle, and d.until_favoured says after how many
/// blocks it is worth another call. REQUIRES: as for the begin of a first attempt that nothing special is asked of.
[[nodiscard]] bool begin_as_favourite(descriptor& d);

/// While it lives no other context is the favourite or becomes it. For a context that takes what the favourite might
/// want, a seat, before its state says that it runs. REQUIRES: d is idle.
class without_favourite {
public:
    explicit without_favourite(descriptor& d) noexcept;
    without_favourite(const without_favourite&) = delete;
    without_favourite& operator=(const without_favourite&) = delete;
    ~without_favourite();
    /// Not where the execution of d was to end before the favourite had ended (ends_here).
    [[nodiscard]] bool is_so() const noexcept { return is_so_; }

private:
    bool is_so_ = true;
};

/// Takes the word `seen` away, once its transaction is over; not where d's execution ends here before. REQUIRES: d is
/// idle, and may not run beside it.
void dismiss(descriptor& d, word seen) noexcept;

/// In the child of a fork: only `self` is left, which may be null.
void forget_other_favourites(const descriptor* self) noexcept;

/// Whether the favourite `seen` is nobody to wait for: it is d, d runs inside its transaction, or inside another's,
/// beside which no favourite runs alone. REQUIRES: `seen` is not 0.
[[nodiscard]] bool may_run_beside(const descriptor& d, word seen) noexcept;

}  // namespace tutti::core
