// Objects that one block has both made and replaced: they are destroyed before the transaction ends.
//
// A block that sets a variable a thousand times makes a thousand nodes. Other transactions have seen none of them. So
// all nodes but the last need not wait for the commit, and the block keeps memory in proportion to what is live.
//
// Three conditions make this safe.
//  1. The object is plain memory (kind `replaced`): its destruction frees no variable, so no entry of the write set or
//     of the read log names what it frees.
//  2. The entries that say that it was made (`allocated`, `constructed`) and that it was replaced stand in the part of
//     the log that belongs to the innermost open block. So no roll-back can bring it back alone: one of that block
//     takes back the making as well. An object that the parent made and a nested block replaced stays until the nested
//     block has closed.
//  3. Nothing walks that part of the log by index meanwhile: `no_look_for_replaced`.
//
// Cost. The engine looks through the part of the log that belongs to the innermost block when it has grown to twice
// what was left of it at the last look, and a little more. A short transaction never looks. When a nested block closes,
// its part of the log joins its parent's, and of the two last looks the one that left more counts for both. So at least
// half of what a look goes through is new, or comes from the smaller of two parts that have been joined. An entry
// is looked at O(log n) times in all, n being the size of the log, however deeply it was nested; in a chain of blocks,
// each in the last one, a constant number of times.
#pragma once

#include <limits>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Where the part of the log that belongs to the innermost block begins.
[[nodiscard]] inline std::size_t innermost_mark(const descriptor& d) noexcept {
    return d.frame_->parent != nullptr ? d.frame_->mark.deferred : 0;
}

/// Looks, and destroys what it finds. The destructors run inside the block. REQUIRES: d is healthy.
void destroy_replaced(descriptor& d) noexcept;

/// The same where the log has grown enough.
TUTTI_ALWAYS_INLINE void destroy_replaced_where_due(descriptor& d) noexcept {
    // Builds that check look at once, so that a reference to a value that is gone is found at its first use.
#if defined(TUTTI_CHECK) || defined(TUTTI_SANITIZED)
    constexpr std::size_t at_least = 0;
#else
    constexpr std::size_t at_least = 96;
#endif
    if (d.deferred_log.size() <= at_least) return;
    const std::size_t left = d.frame_->left_when_looked;
    if (d.deferred_log.size() - innermost_mark(d) > at_least + (at_least != 0 ? 2 * left : left)) [[unlikely]]
        destroy_replaced(d);
}

/// While it lives, the part of the log that belongs to the block of that frame keeps its entries. A jump that skips the
/// end leaves the block as it is, which costs memory and no more.
class no_look_for_replaced {
public:
    explicit no_look_for_replaced(detail::frame& f) noexcept : frame_{f}, before_{f.left_when_looked} {
        f.left_when_looked = std::numeric_limits<std::size_t>::max() / 4;
    }
    ~no_look_for_replaced() { frame_.left_when_looked = before_; }
    no_look_for_replaced(const no_look_for_replaced&) = delete;
    no_look_for_replaced& operator=(const no_look_for_replaced&) = delete;

private:
    detail::frame& frame_;
    std::size_t before_;
};

/// Destroys an object, or the memory for one, that the innermost block has allocated and that nothing refers to. Its
/// memory stays until the transaction ends, because logs may name it.
void abandon(descriptor& d, void* object) noexcept;

}  // namespace tutti::core
