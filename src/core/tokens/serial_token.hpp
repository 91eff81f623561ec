// The serial token. The transaction of its owner runs alone. The functions in modes/serial.hpp take the token and wait
// for other transactions.
//
// One word:
//   63 … 35 how often it was taken | 34 stopped | 33 fenced | 32 fencing | 31 … 0 the owner's number + 1, or 0
//
// A begin clears `stopped` by an exchange. The count protects a later owner from a begin that was switched away before
// its exchange. The exchange compares the whole word, so it fails if the count has changed. The count wraps around only
// after 2^29 takes of some microseconds each. Even if that happens between the begin's load and its exchange, the word
// has the same owner and bits.
//
// A taker must know which contexts run, and a begin must know whether there is an owner. Begins are frequent and takers
// usually rare, so a taker executes a heavy fence for both sides (base/fence.hpp). If takers are frequent, they make
// each begin execute its own fence:
//
//   taker, rare:      owner = its own; heavy fence; reads every state
//   taker, frequent:  the same with `fencing` set; after the heavy fence, `fenced` is set
//   later takers:     owner = its own (seq_cst), and finds `fenced` set by the same access; reads every state
//   begin:            state = running; light fence; is the word 0? Continues. Is `fencing` set? Full fence; is there an
//                     owner? Waits for it
//
// In a stopped world, the next owner continues where the previous one has stopped:
//
//   owner, when it ends:  clears the owner; sets `stopped` if `fenced` is set and no context has unfinished handlers
//   taker:                is `stopped` set? Then reads no state
//   begin:                is `stopped` set? Then clears it by an exchange that finds no owner
//
// Invariants
//   SER1  If a taker has found `fenced` set, each begin sees the taker, or the taker sees it running. Proof: a begin
//       that has seen `fencing` has a full fence between the store of its state and its second read of the word. The
//       taker has a seq_cst read-modify-write before it reads the states. So one of them sees the other. A begin that
//       has not seen `fencing` read the word before `fencing` was set. So the heavy fence that followed ordered the
//       begin's state before `fenced`, which the taker acquires.
//   SER2  The bits are cleared only by an exchange that finds no owner, and are set only while there is an owner. So
//       the order of that exchange and the taker's exchange decides. If the taker's exchange comes first, the other
//       exchange fails. If the taker's exchange comes later, it finds the bits cleared, and the taker executes a fence.
//   SER3  Every change of the word is a read-modify-write, or a store by an owner that is alone and has acquired the
//       old value. So a context that finds no owner, or becomes the owner, acquires the actions of every earlier owner.
//   SER4  While `stopped` is set, the only running contexts are those that wait for the serial owner. Proof: the owner
//       that set `stopped` was alone. Every later begin has seen the word, because it has seen `fencing` (SER1), and
//       continues only by the exchange that clears `stopped`. If a taker's exchange comes before that exchange, the
//       begin's exchange fails and finds the owner. If the taker's exchange comes later, it finds `stopped` cleared.
//       Blocks of the language in hardware rely on `stopped` without taking the token: itm/hardware.hpp.
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

/// Returns true if a context that has just begun, with a light fence, has to do more before it continues.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool needs_slow_begin(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    const word serial = serial_token.load(std::memory_order_acquire);
    return (serial | biased) != 0 && (serial != 0 || biased != d.bias.word_as_owner);
}
/// Does the same for a context that has stored its state by a seq_cst access, and so needs no fence (SER1).
[[nodiscard]] TUTTI_ALWAYS_INLINE bool needs_slow_begin_announced(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return (serial_token.load(std::memory_order_seq_cst) & (serial_owner_mask | world_is_stopped)) != 0 ||
           (biased != 0 && biased != d.bias.word_as_owner);
}

enum class take_result : std::uint8_t {
    has_owner,        ///< the token has an owner
    begins_unfenced,  ///< begins may miss the take: the caller must fence heavily and call note_begins_have_fenced
    begins_fenced,    ///< every begin that misses the take is seen running from here on: SER1
    world_stopped,    ///< no transaction runs: SER4
};
/// Makes d the owner if there is no owner.
[[nodiscard]] take_result try_serial_token(descriptor& d) noexcept;
/// Makes d the owner, in place of an owner that has not found itself alone yet. REQUIRES: d has the irrevocable slot
/// and runs, so that the previous owner waits for d.
[[nodiscard]] take_result seize_serial_token(descriptor& d) noexcept;
/// Records that d has executed a heavy fence after it took the token with the result begins_unfenced.
void note_begins_have_fenced(const descriptor& d) noexcept;

/// Makes the next take by d count as frequent, so that the world is stopped when d ends serial execution.
void mark_serial_frequent(descriptor& d) noexcept;

/// Finishes the begin of d after d has found a `token` that is not 0 but names no owner. Returns false if there may be
/// an owner by now.
[[nodiscard]] bool begin_under(descriptor& d, word token) noexcept;

/// Releases the token, if d still has it. REQUIRES: d has done nothing as the owner yet.
void drop_serial_token(descriptor& d) noexcept;

/// Ends serial execution, so that other contexts may run alone, or begin again. REQUIRES: d is alone, or has become
/// alone (modes/serial.hpp).
void end_serial(descriptor& d) noexcept;

/// Releases the serial token if d has it, and then d's slot. REQUIRES: d has the token or a slot.
void release_tokens(descriptor& d) noexcept;

/// Resets the token in the child of a fork, where only the context of `self` is left. `self` may be null.
void forget_serial_others(const descriptor* self) noexcept;

}  // namespace tutti::core
