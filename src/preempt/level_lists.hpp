// A list of contexts for each level of priority, and a bitmap of the non-empty lists.
//
// Within a level, contexts with a deadline come first, the earliest deadline first. Contexts without a deadline follow,
// in the order in which they were added to the list. The lists are intrusive: a context is in one list at most. Not
// synchronized.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace tutti::preempt {

inline constexpr unsigned max_levels = 64;

/// The fields that a list needs in its elements.
struct level_list_node {
    level_list_node* next = nullptr;
    level_list_node* previous = nullptr;
    unsigned list_level = 0;  // valid while the node is in a list
    std::optional<base::deadline> due = {};
};

class level_lists {
public:
    /// Returns the highest level that has a context, or -1.
    [[nodiscard]] int highest() const noexcept { return int{max_levels} - 1 - std::countl_zero(occupied_); }
    /// Returns the last context of the lowest level that has contexts, or null.
    [[nodiscard]] level_list_node* last() const noexcept {
        return occupied_ == 0 ? nullptr : levels_[static_cast<std::size_t>(std::countr_zero(occupied_))].last;
    }

    /// Returns the first context of `level`, or null.
    [[nodiscard]] const level_list_node* first(unsigned level) const noexcept { return levels_[level].first; }

    void insert(level_list_node& l, unsigned level) noexcept;
    void remove(level_list_node& l) noexcept;
    /// Removes and returns the first context of `level`. REQUIRES: the level has a context.
    level_list_node& take_first(unsigned level) noexcept;

private:
    struct list {
        level_list_node* first = nullptr;
        level_list_node* last = nullptr;
    };
    std::uint64_t occupied_ = 0;
    std::array<list, max_levels> levels_{};
};

}  // namespace tutti::preempt
