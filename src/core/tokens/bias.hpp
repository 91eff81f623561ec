// Running alone without asking: while only one of all contexts begins transactions, it is the biased owner. Its blocks
// of the language need no barriers, because whoever else begins waits for its transaction to end first.
//
//   the biased owner:  state = running; light fence; is the word still its own? then it runs alone
//   any other:      state = running; fence; is there a biased_owner? then idle again; revokes it; heavy fence; waits
//                   until the transaction is over that it finds running alone; takes the word away; begins anew
//   to become it:   all others are idle, and have begun nothing since the last look; its word; heavy fence; looks again
//
// Invariants
//   V1  by base/fence.hpp the biased owner sees that it is revoked, or who revokes it sees that its transaction runs,
//       and whether it is one that was to run alone
//   V2  likewise whoever becomes it finds those that have begun, or they find its word
//   V3  the word stays, revoked, until the last transaction that may run alone is over: who finds none need not wait
//   V4  no word is used twice, so whoever takes one away is not late for the next
//   V5  nobody becomes it while another waits to begin: that one says so before it looks at the word, and who becomes
//       it looks for such after the heavy fence
// The biased owner waits for nobody while it runs alone, so no cycle of waits passes through it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Its number and one (63 … 32), how often it became the biased owner (31 … 1), whether it is revoked (0). 0: there is
/// none.
inline constinit detail::shared<word> biased_owner{0};

/// So many blocks a context runs between two attempts to become the biased owner, while it is not.
inline constexpr std::uint32_t blocks_between_looks = 4096;

/// Tries to begin an attempt of d that runs alone: as the biased owner, or because nobody else has begun a transaction
/// for a while. It is optimistic in name and meets nobody. False: d is idle, and d.until_bias says after how many
/// blocks it is worth another call. REQUIRES: as for the begin of a first attempt that nothing special is asked of.
[[nodiscard]] bool begin_as_biased_owner(descriptor& d);

/// While it lives no other context is the biased owner or becomes it. For a context that takes what the biased owner
/// might want, a slot, before its state says that it runs. REQUIRES: d is idle.
class without_bias {
public:
    explicit without_bias(descriptor& d) noexcept;
    without_bias(const without_bias&) = delete;
    without_bias& operator=(const without_bias&) = delete;
    ~without_bias();
    /// Not where the execution of d was to end before the biased owner had ended (ends_here).
    [[nodiscard]] bool is_so() const noexcept { return is_so_; }

private:
    bool is_so_ = true;
};

/// Takes the word `seen` away, once its transaction is over; not where d's execution ends here before. REQUIRES: d is
/// idle, and may not run beside it.
void revoke_bias(descriptor& d, word seen) noexcept;

/// In the child of a fork: only `self` is left, which may be null.
void forget_bias_of_others(const descriptor* self) noexcept;

/// Whether the biased owner `seen` is nobody to wait for: it is d, d runs inside its transaction, or inside another's,
/// beside which no biased_owner runs alone. REQUIRES: `seen` is not 0.
[[nodiscard]] bool may_run_beside(const descriptor& d, word seen) noexcept;

}  // namespace tutti::core
