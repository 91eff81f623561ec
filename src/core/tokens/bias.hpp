// Serial runs without asking: while only one context of all begins transactions, it is the biased owner. Its blocks of
// the language need no barriers, because every other context that begins waits for the owner's transaction to end.
//
//   the biased owner:  state = running; light fence; is the word still its own? then it runs serially
//   any other:         state = running; fence; is there a biased owner? then idle again; revokes it; heavy fence;
//                      awaits the end of the transaction that it finds running serially; takes the word away; begins
//                      anew
//   to become it:      all others are idle, and have begun nothing since the last look; its word; heavy fence; looks
//                      again
//
// Invariants
//   V1  by base/fence.hpp the biased owner sees that it is revoked, or the revoker sees that the owner's transaction
//       runs, and whether that one was to run serially
//   V2  likewise a context that becomes the owner finds those that have begun, or they find its word
//   V3  the word stays, revoked, until the last transaction that may run serially is over: a context that finds no word
//       need not wait
//   V4  a word is used again only after 2^31 tries of its descriptor, so a revoker that takes one away late does not
//       hit the next. A descriptor tries once in 4,096 blocks at most: a day at 100 million blocks a second
//   V5  no context becomes the owner while another waits to begin: the waiting one says so before it looks at the word,
//       and the one that becomes the owner looks for such after the heavy fence
//   V6  nor does one while the serial token has an owner, which may not have begun yet: that one takes the token before
//       it looks at the word (both seq_cst), and the one that becomes the biased owner looks in the reverse order. A
//       context that takes the token later finds the word
// The biased owner waits for no other while it runs serially, so no cycle of waits passes through it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The owner's descriptor number + 1 (63 … 32), how often it tried to become the biased owner (31 … 1), whether it is
/// revoked (0). 0: there is none.
inline constinit detail::shared<word> biased_owner{0};

/// How many blocks a context that is not the biased owner runs between two tries to become it.
inline constexpr std::uint32_t blocks_between_looks = 4096;

/// Tries to begin an attempt of d that runs serially: as the biased owner, or because no other context has begun a
/// transaction for a while. The attempt is optimistic in name and meets no other. False: d is idle, and d.bias.until
/// says after how many blocks another call pays. REQUIRES: as for the begin of a first attempt without special demands.
[[nodiscard]] bool begin_as_biased_owner(descriptor& d);

/// While it lives, no other context is or becomes the biased owner. For a context that takes a slot, which the biased
/// owner might want, before its state says that it runs. REQUIRES: d is idle.
class without_bias {
public:
    explicit without_bias(descriptor& d) noexcept;
    without_bias(const without_bias&) = delete;
    without_bias& operator=(const without_bias&) = delete;
    ~without_bias();
    /// False where the execution of d was to end before the biased owner had ended (ends_here).
    [[nodiscard]] bool is_so() const noexcept { return is_so_; }

private:
    bool is_so_ = true;
};

/// Takes the word `seen` away once its owner's transaction is over, unless d's execution ends here before that.
/// REQUIRES: d is idle, and may not run beside that owner.
void revoke_bias(descriptor& d, word seen) noexcept;

/// In the child of a fork: only `self` is left, which may be null.
void forget_bias_of_others(const descriptor* self) noexcept;

/// Whether d need not wait for the biased owner `seen`: that is d, or d runs inside its transaction, or inside
/// another's, beside which no biased owner runs serially. REQUIRES: `seen` is not 0.
[[nodiscard]] bool may_run_beside(const descriptor& d, word seen) noexcept;

}  // namespace tutti::core
