// The context of a call of the C library, and the way in which the call becomes irrevocable.
//
// A function in this folder has two entries. Instrumented code of GCC calls the transactional clone; blocks of the
// library call tutti::libc::<name>(tx&, ...). Both entries run the same body.
//
// A body must not hold a resource (a lock, memory, a descriptor) only in a local variable during certain steps. These
// steps are accesses to the program's memory, waits, and switches to irrevocability. Each of them may leave the frame
// by a jump that runs no destructor. So the body registers its resources with the transaction before such a step.
#pragma once

#include "itm/block.hpp"

namespace tutti::libc {

using core::descriptor;

/// Returns true if the innermost block is a block of the language.
inline bool in_language(const tx& t) noexcept { return itm::is_block(static_cast<const descriptor&>(t).frame_); }

/// Returns true if the innermost block runs without barriers, that is, alone and without the possibility of a
/// roll-back.
inline bool runs_without_barriers(const tx& t) noexcept {
    const auto& d = static_cast<const descriptor&>(t);
    return itm::is_block(d.frame_) && itm::runtime_state_of(d).direct;
}

/// Returns the transaction in which a clone runs. `of` is the program's call of the clone. Returns null if the clone
/// must call the C library's own function: outside of transactions, and in a block that runs without barriers. If the
/// call makes the block run alone, the report names the call.
inline tx* transaction_of_call(const itm::library_call& of) noexcept {
    tx* const t = detail::current_transaction;
    if (t == nullptr || !detail::access::running(*t)) return nullptr;
    if (in_language(*t)) {
        itm::runtime_state& state = itm::runtime_state_of(static_cast<const descriptor&>(*t));
        if (state.direct) return nullptr;
        state.latest_call = of;
    }
    return t;
}

inline constexpr const char* default_advice = "call it after the block, or in a commit action";

/// Writes output that waits for the commit outside of stream buffers. REQUIRES: d is irrevocable.
void write_deferred_output(descriptor& d) noexcept;

/// Ensures that the transaction commits, so that the caller may act irreversibly. A block of the language then runs
/// alone and without barriers. A block of the library becomes irrevocable, and other transactions run at the same time.
/// May restart the block. The library's report of such blocks shows `why` as the reason, and `advice` as an alternative
/// for the user. Both strings are literals.
inline void become_irrevocable(tx& t, const char* why, const char* advice = default_advice) {
    if (!in_language(t)) {
        t.become_irrevocable(why);
        return write_deferred_output(static_cast<descriptor&>(t));
    }
    tutti_itm_run_alone(why, advice);
    itm::release_resources(static_cast<descriptor&>(t));
    write_deferred_output(static_cast<descriptor&>(t));
}

}  // namespace tutti::libc
