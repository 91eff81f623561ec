// Where a call of the C library stands, and how it becomes irrevocable.
//
// A function of this folder has two doors: the transactional clone, which instrumented code of GCC calls, and
// tutti::libc::<name>(tx&, ...), which blocks of the library call. Both lead to the same body.
//
// No body holds a resource (a lock, memory, a descriptor) in a local variable across an access to the program's memory,
// a wait or a switch to irrevocability: each of them may leave the frame by a jump that runs no destructor. What has to
// be given back is registered with the transaction before the next such step.
#pragma once

#include "itm/block.hpp"

extern "C" __attribute__((weak)) void _ITM_changeTransactionMode(std::uint32_t) noexcept;

namespace tutti::libc {

using core::descriptor;

/// Whether the innermost block is one of the language.
inline bool in_language(const tx& t) noexcept { return itm::is_block(static_cast<const descriptor&>(t).frame_); }

/// Whether the innermost block runs without barriers: alone, and with no way back.
inline bool runs_plainly(const tx& t) noexcept {
    const auto& d = static_cast<const descriptor&>(t);
    return itm::is_block(d.frame_) && itm::side_of(d).direct;
}

/// The transaction that a clone runs in, or null where the C library's own function does: outside of transactions, and
/// in a block that runs without barriers.
inline tx* surrounding() noexcept {
    tx* const t = detail::current_transaction;
    if (t == nullptr || !detail::access::running(*t) || runs_plainly(*t)) return nullptr;
    return t;
}

/// From here on the transaction commits, so that the caller may do what cannot be undone. A block of the language runs
/// alone and without barriers then; a block of the library is irrevocable, and others run beside it. May restart the
/// block. `why` is a literal.
inline void become_irrevocable(tx& t, const char* why) {
    if (in_language(t)) _ITM_changeTransactionMode(0);
    else t.become_irrevocable(why);
}

}  // namespace tutti::libc
