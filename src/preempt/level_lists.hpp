// A list of contexts for each level of priority, and a bitmap of the non-empty lists.
//
// Within a level, contexts with a deadline come first, the earliest deadline first. The others follow in the order of
// arrival. The lists are intrusive: a context is in one list at most. Not synchronized.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

inline constexpr unsigned most_levels = 64;

/// The fields that a list needs in its members.
struct listed {
    listed* next = nullptr;
    listed* previous = nullptr;
    unsigned in_level = 0;  // valid while it is in a list
    std::optional<base::deadline> due = {};
};

class level_lists {
public:
    /// Returns the highest level with a context, or -1.
    [[nodiscard]] int highest() const noexcept { return int{most_levels} - 1 - std::countl_zero(occupied_); }
    /// Returns the context that comes after all others, or null.
    [[nodiscard]] listed* last() const noexcept {
        return occupied_ == 0 ? nullptr : levels_[static_cast<std::size_t>(std::countr_zero(occupied_))].last;
    }

    /// Returns the first context of that level, or null.
    [[nodiscard]] const listed* first(unsigned level) const noexcept { return levels_[level].first; }

    void insert(listed& l, unsigned level) noexcept;
    void remove(listed& l) noexcept;
    /// Removes and returns the first context of that level. REQUIRES: the level is not empty.
    listed& take_first(unsigned level) noexcept;

private:
    struct list {
        listed* first = nullptr;
        listed* last = nullptr;
    };
    std::uint64_t occupied_ = 0;
    std::array<list, most_levels> levels_{};
};

}  // namespace tutti::preempt
