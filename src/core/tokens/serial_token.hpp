// The serial token: whose transaction runs with no other beside it. modes/serial.hpp takes it and waits for others.
//
// One word:
//   63 … 35 how often it was taken | 34 still | 33 settled | 32 fencing | 31 … 0 the owner's number + 1, or 0
//
// The count wraps. It keeps a begin that was switched away from taking `still` down for a later owner, and the exchange
// of that begin compares the whole word: 2^29 takes, each of microseconds, would have to come between its load and the
// exchange, and even then the word says the same of owner and bits.
//
// A taker must know who runs, and a begin whether there is an owner. Begins are frequent, takers mostly rare, so a
// taker pays for both (base/fence.hpp). Where takers are frequent, they have begins fence for themselves:
//
//   taker, rare:      owner = its own; heavy fence; looks at every state
//   taker, frequent:  the same with `fencing` up; after the heavy fence `settled` is up
//   later takers:     owner = its own (seq_cst), and found `settled` up by the same access; looks at every state
//   begin:            state = running; light fence; the word is 0? goes on. `fencing` is up? full fence; is there an
//                     owner? stands aside
//
// and the next owner goes on where the one before it has stopped, in a world that stands still:
//
//   owner, when it ends:  no owner; `still` is up if `settled` is
//   taker:                found `still` up? looks at nobody
//   begin:                is `still` up? takes it down by an exchange that finds no owner
//
// Invariants
//   T1  A taker that found `settled` up finds every begin that misses it running. A begin that has seen `fencing` has a
//       full fence between its state and its second look, the taker a seq_cst read-modify-write before its look: one
//       sees the other. A begin that has not seen it looked before it was raised, so the heavy fence after that raise
//       ordered its state before `settled`, which the taker acquires.
//   T2  The bits come down only by an exchange that finds no owner, and go up only with one. So the taker's exchange
//       decides: one that comes first makes the other fail, and one that comes later finds them down and fences.
//   T3  Every change of the word is a read-modify-write, or a store by an owner that is alone, which has acquired what
//       was there. So who finds no owner, and who becomes it, acquires what every owner before did.
//   T4  While `still` is up only contexts run that stand aside: the owner that raised it was alone, and a begin since
//       then has seen the word, because it has seen `fencing` (T1), and goes on only by the exchange that takes `still`
//       down. A taker's exchange comes before that one, which then fails and finds the owner, or after it, and finds
//       `still` down.
//       Blocks of the language in hardware rely on `still` without taking the token: itm/hardware.hpp.
#pragma once

#include "core/tokens/bias.hpp"

namespace tutti::core {

/// On a line of its own: begins read it all the time.
struct alignas(128) serial_token_line {
    detail::shared<word> value{0};
};
inline constinit serial_token_line serial_token_place;
inline constexpr detail::shared<word>& serial_token = serial_token_place.value;

inline constexpr word serial_owner_mask = 0xffffffff;
inline constexpr word begins_fence = word{1} << 32;
inline constexpr word begins_have_fenced = word{1} << 33;
inline constexpr word world_is_still = word{1} << 34;
inline constexpr word one_take = word{1} << 35;

/// The owner that a value of the token names, or null.
[[nodiscard]] inline descriptor* serial_owner_in(word token) noexcept {
    const auto number = static_cast<std::uint32_t>(token & serial_owner_mask);
    return number == 0 ? nullptr : &descriptor::of(memory::activity_of(number - 1));
}
[[nodiscard]] inline descriptor* serial_owner() noexcept {
    return serial_owner_in(serial_token.load(std::memory_order_acquire));  // T3
}

/// For a context that has just begun, by a light fence: whether there is more to do.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool begins_specially(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return serial_token.load(std::memory_order_acquire) != 0 || (biased != 0 && biased != d.bias.word_as_owner);
}
/// The same for one that has stored its state by a seq_cst access, and so need not fence. T1
[[nodiscard]] TUTTI_ALWAYS_INLINE bool begins_specially_in_sight(const descriptor& d) noexcept {
    const word biased = biased_owner.load(std::memory_order_acquire);
    return (serial_token.load(std::memory_order_seq_cst) & (serial_owner_mask | world_is_still)) != 0 ||
           (biased != 0 && biased != d.bias.word_as_owner);
}

enum class token_taken : std::uint8_t {
    no,       ///< it has an owner
    quietly,  ///< begins may miss it: the caller fences heavily, and calls note_begins_have_fenced
    openly,   ///< every begin that misses it is seen running from here on: T1
    still,    ///< nobody runs: T4
};
/// d becomes the owner if there is none.
[[nodiscard]] token_taken try_serial_token(descriptor& d) noexcept;
/// d becomes the owner, in place of one that has not found itself alone yet. REQUIRES: d has the irrevocable slot and
/// runs, so that one waits for it.
[[nodiscard]] token_taken seize_serial_token(descriptor& d) noexcept;
/// d, which has taken it quietly, has fenced heavily since.
void note_begins_have_fenced(const descriptor& d) noexcept;

/// The next take by d counts as frequent, so that the world stands still when that owner ends.
void take_often(descriptor& d) noexcept;

/// d has begun and found no owner in `token`, which is not 0. False: there may be one by now.
[[nodiscard]] bool begin_under(descriptor& d, word token) noexcept;

/// d, which has done nothing yet, is no longer the owner.
void drop_serial_token(descriptor& d) noexcept;

/// Others may run alone, or begin again. REQUIRES: d is alone, or has come to be (modes/serial.hpp).
void end_serial(descriptor& d) noexcept;

/// Gives back the serial token if d has that, and after it d's slot. REQUIRES: d has one of the two.
void give_back_tokens(descriptor& d) noexcept;

/// In the child of a fork: only `self` is left, which may be null.
void forget_serial_others(const descriptor* self) noexcept;

}  // namespace tutti::core
