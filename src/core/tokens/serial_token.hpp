// The serial token. Its owner's transaction runs alone. modes/serial.hpp takes the token and waits for others.
//
// One word:
//   63 … 35 how often it was taken | 34 stopped | 33 fenced | 32 fencing | 31 … 0 the owner's number + 1, or 0
//
// The count wraps. It protects a later owner from a begin that was switched away before its exchange takes `stopped`
// down: that exchange compares the whole word. A wrapped count would need 2^29 takes of some microseconds each between
// the begin's load and its exchange. Even then the word says the same about owner and bits.
//
// A taker must know which contexts run, and a begin must know whether there is an owner. Begins are frequent and takers
// usually rare, so a taker pays for both (base/fence.hpp). If takers are frequent, they make begins fence for
// themselves:
//
//   taker, rare:      owner = its own; heavy fence; looks at every state
//   taker, frequent:  the same with `fencing` up; after the heavy fence `fenced` is up
//   later takers:     owner = its own (seq_cst), and found `fenced` up by the same access; looks at every state
//   begin:            state = running; light fence; is the word 0? Continues. Is `fencing` up? Full fence; is there an
//                     owner? Waits for it
//
// In a stopped world, the next owner continues where the previous one has stopped:
//
//   owner, when it ends:  clears the owner; `stopped` is up if `fenced` is
//   taker:                found `stopped` up? Looks at no state
//   begin:                is `stopped` up? Takes it down by an exchange that finds no owner
//
// Invariants
//   SER1  A taker that found `fenced` up finds every begin that misses it running. A begin that has seen `fencing` has
//       a full fence between its state and its second look; the taker has a seq_cst read-modify-write before its look.
//       So one sees the other. A begin that has not seen `fencing` looked before it was raised. So the heavy fence
//       after that raise ordered the begin's state before `fenced`, which the taker acquires.
//   SER2  The bits come down only by an exchange that finds no owner, and go up only with an owner. So the taker's
//       exchange decides: if it comes first, the other exchange fails; if it comes later, it finds the bits down, and
//       the taker fences.
//   SER3  Every change of the word is a read-modify-write, or a store by an owner that is alone and has acquired the
//       old value. So a context that finds no owner, or becomes the owner, acquires the actions of every earlier owner.
//   SER4  While `stopped` is up, only contexts run that wait for the serial owner. The owner that raised it was alone.
//       A begin since then has seen the word, because it has seen `fencing` (SER1), and continues only by the exchange
//       that takes `stopped` down. A taker's exchange comes before that one, which then fails and finds the owner; or
//       it comes after that one, and finds `stopped` down. Blocks of the language in hardware rely on `stopped` without
//       taking the token: itm/hardware.hpp.
#pragma once

#include "core/tokens/bias.hpp"

namespace tutti::core {

/// The token on a cache line of its own, because begins read it all the time.
struct alignas(128) serial_token_line {
    detail::shared<word> value{0};
};
inline constinit serial_token_line serial_token_storage;
inline constexpr detail::shared<word>& serial_token = serial_token_storage.value;

inline constexpr word serial_owner_mask = 0xffffffff;
inline constexpr word begins_fence = word{1} << 32;
inline constexpr word begins_have_fenced = word{1} << 33;
inline constexpr word world_is_stopped = word{1} << 34;
inline constexpr word take_count_unit = word{1} << 35;

/// Returns the owner that a value of the token names, or null.
[[nodiscard]] inline descriptor* serial_owner_in(word token) noexcept {
    const auto number = static_cast<std::uint32_t>(token & serial_owner_mask);
    return number == 0 ? nullptr : &descriptor::of(memory::status_record_of(number - 1));
}
[[nodiscard]] inline descriptor* serial_owner() noexcept {
    return serial_owner_in(serial_token.load(std::memory_order_acquire));  // SER3
}

/// Returns true if a context that has just begun, with a light fence, has more to do.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool needs_slow_begin(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return serial_token.load(std::memory_order_acquire) != 0 || (biased != 0 && biased != d.bias.word_as_owner);
}
/// Does the same for a context that has stored its state by a seq_cst access, and so need not fence. SER1
[[nodiscard]] TUTTI_ALWAYS_INLINE bool needs_slow_begin_announced(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return (serial_token.load(std::memory_order_seq_cst) & (serial_owner_mask | world_is_stopped)) != 0 ||
           (biased != 0 && biased != d.bias.word_as_owner);
}

enum class take_result : std::uint8_t {
    has_owner,        ///< the token has an owner
    begins_unfenced,  ///< begins may miss the take: the caller fences heavily, and calls note_begins_have_fenced
    begins_fenced,    ///< every begin that misses the take is seen running from here on: SER1
    world_stopped,    ///< no transaction runs: SER4
};
/// Makes d the owner if there is no owner.
[[nodiscard]] take_result try_serial_token(descriptor& d) noexcept;
/// Makes d the owner, instead of an owner that has not found itself alone yet. REQUIRES: d has the irrevocable slot and
/// runs, so that the other one waits for d.
[[nodiscard]] take_result seize_serial_token(descriptor& d) noexcept;
/// Notes that d, which has taken the token with the result begins_unfenced, has fenced heavily since.
void note_begins_have_fenced(const descriptor& d) noexcept;

/// Makes the next take by d count as frequent, so that the world is stopped when that owner ends.
void mark_serial_frequent(descriptor& d) noexcept;

/// Finishes the begin of d, which has found no owner in `token`, although that is not 0. Returns false if there may be
/// an owner by now.
[[nodiscard]] bool begin_under(descriptor& d, word token) noexcept;

/// Takes the token from d, which has done nothing yet.
void drop_serial_token(descriptor& d) noexcept;

/// Ends serial execution: others may run alone, or begin again. REQUIRES: d is alone, or has come to be
/// (modes/serial.hpp).
void end_serial(descriptor& d) noexcept;

/// Releases the serial token if d has it, and then d's slot. REQUIRES: d has one of the two.
void release_tokens(descriptor& d) noexcept;

/// Resets the token in the child of a fork, where only `self` is left; `self` may be null.
void forget_serial_others(const descriptor* self) noexcept;

}  // namespace tutti::core
