// Biased serial execution. While only one context begins transactions, that context is the biased owner. Its blocks of
// the language need no barriers, because any other context that begins a transaction first waits for the owner's
// transaction.
//
//   the biased owner:  state = running; light fence; is the word still its own? Then it runs serially
//   any other:         state = running; fence; is there a biased owner? Then becomes idle again; revokes the bias;
//                      heavy fence; waits for the transaction that it finds running serially; clears the word; begins
//                      anew
//   to become owner:   all others are idle, without unfinished handlers, and have begun nothing since the last check;
//                      stores its word; heavy fence; checks again
//
// Invariants
//   BIA1  By base/fence.hpp, the biased owner sees that it is revoked, or the revoker sees that the owner's transaction
//       runs. In the second case the revoker also sees whether the transaction was to run serially.
//   BIA2  In the same way, a context that becomes the owner sees the contexts that have begun, or these contexts see
//       its word.
//   BIA3  A revoked word stays until the last transaction that may run serially is over. So a context that finds no
//       word need not wait.
//   BIA4  A word is used again only after 2^31 tries of its descriptor, so a revoker that clears a word late does not
//       clear a later word. A descriptor tries at most once in 4,096 blocks, so 2^31 tries take a day at 100 million
//       blocks a second.
//   BIA5  No context becomes the owner while another context waits to begin. The waiting context increments
//       `waiting_to_begin` before it reads the word. The context that becomes the owner reads that counter after its
//       heavy fence.
//   BIA6  No context becomes the biased owner while the serial token has an owner, even if the token's owner has not
//       begun yet. The token's owner takes the token before it reads the word (both seq_cst). The new biased owner
//       stores the word before it reads the token. A context that takes the token later finds the word.
//   BIA7  While there is a biased owner, the world is not stopped (serial_token.hpp). A serial owner that ends reads
//         the word before it stops the world. A context that becomes the biased owner stores its word before it reads
//         the token (both seq_cst). So that context finds the serial owner and gives up, or ends the stopped world.
// While it runs serially, the biased owner waits for no other context, so no cycle of waits passes through it.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// The word that names the biased owner, or 0 if there is no biased owner. Bits 63 … 32: the number of the owner's
/// descriptor, plus 1. Bits 31 … 1: how often this descriptor tried to become the owner. Bit 0: the bias is revoked.
inline constinit detail::shared<word> biased_owner{0};

/// How many blocks a context that is not the biased owner runs between two tries to become the owner.
inline constexpr std::uint32_t blocks_between_bias_tries = 4096;

/// Tries to begin an attempt of d that runs serially, with d as the biased owner. If d is not the owner yet, d can
/// become the owner only if no other context has begun a transaction since d's previous try. The attempt is nominally
/// optimistic, but conflicts with no other transaction. If the function returns false, d is idle, and
/// d.bias.blocks_until_next_try says after how many blocks another call pays. REQUIRES: as for the begin of a first
/// attempt without special demands.
[[nodiscard]] bool begin_as_biased_owner(descriptor& d);

/// While a bias_suspension exists, no other context is or becomes the biased owner. Used by a context that takes a slot
/// before its state is running, because the biased owner might need that slot. REQUIRES: d is idle.
class bias_suspension {
public:
    explicit bias_suspension(descriptor& d) noexcept;
    bias_suspension(const bias_suspension&) = delete;
    bias_suspension& operator=(const bias_suspension&) = delete;
    ~bias_suspension();
    /// Returns false if the execution of d has to end although the biased owner's transaction has not ended
    /// (is_interrupted_before_attempt).
    [[nodiscard]] bool is_active() const noexcept { return active_; }

private:
    bool active_ = true;
};

/// Revokes the bias that the word `seen` grants. Waits until the owner's serial transaction is over, if there is one,
/// and then clears the word. Leaves the word revoked if d's execution ends here during the wait. REQUIRES: d is idle,
/// and may not run beside that owner.
void revoke_bias(descriptor& d, word seen) noexcept;

/// Resets the bias in the child of a fork, where only the context of `self` is left. `self` may be null.
void forget_bias_of_others(const descriptor* self) noexcept;

/// Returns true if d need not wait for the biased owner `seen`. This is so if d is that owner, runs inside the owner's
/// transaction, or runs inside another transaction. (Beside another transaction, no biased owner runs serially.)
/// REQUIRES: `seen` is not 0.
[[nodiscard]] bool may_run_beside(const descriptor& d, word seen) noexcept;

}  // namespace tutti::core
