// Wrappers of longjmp and its variants in the C library. A jump out of an open block ends the process with a message
// that names the block. If a server runs a procedure, the jump rolls the block back instead
// (core/lifecycle/left_behind.hpp). The check comes before the jump. After the jump, nothing could detect that the
// block was left, because the next function reuses its stack.
//
// src/itm defines these wrappers, too. A program with language-level blocks finds the symbols of src/itm before those
// of the C library, but would find the wrappers of this file only after the C library's functions.
#include "api/hooks/jumps.hpp"

#include "api/hooks/language.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "tutti/detail/jump.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::api {

void check_jump(const void* target) noexcept {
    if (detail::current_transaction == nullptr) return;
    auto& d = core::descriptor::of(*detail::current_transaction);
    // A target in the frame of an open block belongs to the engine's own jump to that block, under a sanitizer.
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        const auto at = reinterpret_cast<std::uintptr_t>(target) - reinterpret_cast<std::uintptr_t>(f);
        if (at < sizeof(detail::frame_for_library_jump)) return;
    }
    if (d.running()) core::roll_back_blocks_left_by_jump(d, stack_of(target), resume_of(target));
}

}  // namespace tutti::api

// If the library is static, the program would contain these definitions in addition to the C library's.
#if defined(TUTTI_IS_SHARED)
TUTTI_JUMPS(tutti::api::check_jump)
#endif
