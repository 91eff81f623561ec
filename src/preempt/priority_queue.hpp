// A queue of work that waits to begin: by priority, then by deadline, then by arrival (Silvestri, Economo, Di Sanzo,
// Pellegrini, Quaglia: "Preemptive Software Transactional Memory", III-C, plus deadlines).
//
// Thread safety: not thread-safe. The owner's lock guards it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/clock.hpp"

namespace tutti::preempt {

/// The position of an element in the queue.
struct rank {
    unsigned priority = 0;
    base::deadline due = base::deadline::max();  // the maximum means no deadline, and comes after all deadlines
    std::uint64_t order = 0;                     // number in the order of arrival

    [[nodiscard]] bool operator<(const rank& other) const noexcept {
        if (priority != other.priority) return priority > other.priority;
        return due != other.due ? due < other.due : order < other.order;
    }
};

/// `levels`: the number of priorities. Each operation takes at most logarithmic time. A push takes amortized constant
/// time if the new element becomes the last one. This is the case if all elements have one priority and no deadline.
template <class T, std::size_t levels>
class priority_queue {
public:
    struct element {
        rank at;
        T value;
    };

    /// REQUIRES: at.priority < levels; no element of the queue has the same rank. @throws std::bad_alloc
    void push(const rank& at, const T& value) {
        elements_.emplace_hint(elements_.end(), at, value);
        ++by_priority_[at.priority];
    }
    /// Removes and returns the first element. REQUIRES: !empty()
    element pop() noexcept { return remove(elements_.begin()); }
    /// Removes and returns the last element. REQUIRES: !empty()
    element pop_last() noexcept { return remove(std::prev(elements_.end())); }
    /// Returns the lowest priority of all elements. REQUIRES: !empty()
    [[nodiscard]] unsigned lowest_priority() const noexcept { return elements_.rbegin()->first.priority; }
    [[nodiscard]] bool empty() const noexcept { return elements_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
    [[nodiscard]] std::size_t size(std::size_t priority) const noexcept { return by_priority_[priority]; }

private:
    element remove(typename std::map<rank, T>::iterator which) noexcept {
        const element out{which->first, which->second};
        elements_.erase(which);
        --by_priority_[out.at.priority];
        return out;
    }

    std::map<rank, T> elements_;
    std::array<std::size_t, levels> by_priority_{};
};

}  // namespace tutti::preempt
