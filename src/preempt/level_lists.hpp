// One list of contexts for each level of priority, and a bitmap of those that are not empty.
//
// Within a level: contexts with a deadline before those without, the earliest first; otherwise in the order in which
// they came. Intrusive: a context is in one list at most. Not synchronized.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

inline constexpr unsigned most_levels = 64;

/// What a list needs of its members.
struct listed {
    listed* next = nullptr;
    listed* previous = nullptr;
    unsigned in_level = 0;  // while it is in a list
    std::optional<base::deadline> due = {};
};

class level_lists {
public:
    /// The highest level with a context, or -1.
    [[nodiscard]] int highest() const noexcept { return int{most_levels} - 1 - std::countl_zero(occupied_); }
    /// The one that goes after all others, or null.
    [[nodiscard]] listed* last() const noexcept {
        return occupied_ == 0 ? nullptr : levels_[static_cast<std::size_t>(std::countr_zero(occupied_))].last;
    }

    /// The first of that level, or null.
    [[nodiscard]] const listed* first(unsigned level) const noexcept { return levels_[level].first; }

    void insert(listed& l, unsigned level) noexcept;
    void remove(listed& l) noexcept;
    /// REQUIRES: the level is not empty.
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
