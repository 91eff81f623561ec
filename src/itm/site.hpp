// The site of a block: its place in the program, as far as the running program can find out.
#pragma once

#include "itm/block.hpp"

namespace tutti::itm {

/// Returns the slot of the block whose begin returns to `resume`. Creates the slot at its first use. Throws
/// std::bad_alloc.
detail::site_slot& slot_of(const void* resume);

/// The site that all blocks share while statistics are off.
inline constinit detail::site_slot uncounted_slot{.site{nullptr}, .file = "", .function = "", .line = 0};

inline detail::call_site site_of(const runtime_state& s, const void* resume) {
    return {s.counting.load(std::memory_order_relaxed) ? &slot_of(resume) : &uncounted_slot, {}};
}

}  // namespace tutti::itm
