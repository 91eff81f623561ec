// Objects that one block has both allocated and replaced. Such objects are destroyed before the transaction ends.
//
// A block that sets a variable a thousand times allocates a thousand nodes. Other transactions have not seen them. So
// all nodes except the last can be destroyed before the commit, and the block uses memory in proportion to its live
// objects.
//
// Three conditions make this safe.
//   (1) The object is plain memory (kind `replaced`). Its destruction frees no variable, so no entry of the write set
//       or of the read log names the freed memory.
//   (2) The entries for its creation (`allocated`, `constructed`) and for its replacement are in the part of the log
//       that belongs to the innermost open block. So no roll-back needs the object again, because a roll-back of that
//       block undoes the creation, too. An object that the parent created and a nested block replaced stays until the
//       nested block has closed.
//   (3) While the engine removes entries, no loop visits that part of the log by index; see `replaced_search_pause`.
//
// Cost. The engine searches the innermost block's part of the log when that part is a little more than twice as large
// as after the last search. A short transaction never searches. When a nested block closes, its part joins that of its
// parent, and the larger of the two sizes counts for both. So at least half of the entries that a search visits are
// new, or come from the smaller of two joined parts. At any depth, an entry is visited O(log n) times in all, where n
// is the size of the log. In a chain of blocks, each nested in the previous one, an entry is visited a constant number
// of times.
#pragma once

#include <limits>

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Returns where the part of the log that belongs to the innermost block begins.
[[nodiscard]] inline std::size_t innermost_log_begin(const descriptor& d) noexcept {
    return d.frame_->parent != nullptr ? d.frame_->mark.deferred : 0;
}

/// Searches that part of the log, and destroys the objects that the search finds. The destructors run inside the block.
/// REQUIRES: d is healthy.
void destroy_replaced(descriptor& d) noexcept;

/// Does the same if the log has grown enough.
TUTTI_ALWAYS_INLINE void destroy_replaced_where_due(descriptor& d) noexcept {
    // Builds with checks search each time, so that a reference to a destroyed value is found at its first use.
#if defined(TUTTI_CHECK) || defined(TUTTI_SANITIZED)
    constexpr std::size_t at_least = 0;
#else
    constexpr std::size_t at_least = 96;
#endif
    if (d.deferred_log.size() <= at_least) return;
    const std::size_t left = d.frame_->left_when_looked;
    if (d.deferred_log.size() - innermost_log_begin(d) > at_least + (at_least != 0 ? 2 * left : left)) [[unlikely]]
        destroy_replaced(d);
}

/// While an object of this class exists, no entry of the frame's part of the log is removed. A jump that skips the
/// destructor leaves this state in place, which only costs memory.
class replaced_search_pause {
public:
    explicit replaced_search_pause(detail::frame& f) noexcept : frame_{f}, before_{f.left_when_looked} {
        f.left_when_looked = std::numeric_limits<std::size_t>::max() / 4;
    }
    ~replaced_search_pause() { frame_.left_when_looked = before_; }
    replaced_search_pause(const replaced_search_pause&) = delete;
    replaced_search_pause& operator=(const replaced_search_pause&) = delete;

private:
    detail::frame& frame_;
    std::size_t before_;
};

/// Gives up an object that the innermost block has made and that nothing refers to. Destroys the object, if it has been
/// constructed. Frees its memory only when the transaction ends, because logs may refer to that memory.
void abandon(descriptor& d, void* object) noexcept;

}  // namespace tutti::core
