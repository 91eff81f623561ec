// longjmp and its kin, in front of the C library's: a jump out of an open block ends the process with a message that
// names the block, or rolls the block back where a server runs a procedure (core/lifecycle/left_behind.hpp). Afterwards
// nothing could tell that the block is left, because the next function reuses its stack.
//
// src/itm has the same functions, because a program of the language finds its symbols before the C library's, and ours
// only after those.
#include "api/jumps.hpp"

#include "api/language.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "tutti/detail/jump.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::api {

void heed_jump(const void* target) noexcept {
    if (detail::current_transaction == nullptr) return;
    auto& d = core::descriptor::of(*detail::current_transaction);
    // The engine's own jump to an open block, under a sanitizer: its target is in the frame of that block.
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        const auto at = reinterpret_cast<std::uintptr_t>(target) - reinterpret_cast<std::uintptr_t>(f);
        if (at < sizeof(detail::frame_for_library_jump)) return;
    }
    if (d.running()) core::heed_jump_out(d, stack_of(target), resume_of(target));
}

}  // namespace tutti::api

// A static library would define them for the program, beside the C library's.
#if defined(TUTTI_IS_SHARED)
TUTTI_JUMPS(tutti::api::heed_jump)
#endif
