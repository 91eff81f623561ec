#include "server/calls/ranked_queue.hpp"

#include <bit>
#include <iterator>
#include <new>

namespace tutti::server {

bool ranked_queue::begins_before::operator()(const job* a, const job* b) const noexcept {
    return a->due != b->due ? a->due < b->due : a->order_ < b->order_;
}

void ranked_queue::push(job& j) {
    level& l = levels_[static_cast<std::size_t>(j.priority)];
    j.order_ = arrivals_++;
    if (j.due != no_deadline) {
        l.timed.insert(&j);
    } else {
        j.next_ = nullptr;
        j.previous_ = l.last;
        (l.last == nullptr ? l.first : l.last->next_) = &j;
        l.last = &j;
    }
    ++l.size;
    ++size_;
    occupied_ |= std::uint32_t{1} << j.priority;
}

job* ranked_queue::push_within(std::size_t capacity, job& j) noexcept {
    if (size_ >= capacity && std::countr_zero(occupied_) >= j.priority) return &j;
    try {
        push(j);
    } catch (const std::bad_alloc&) {
        return &j;
    }
    if (size_ <= capacity) return nullptr;
    job& away = pop_last();
    ++levels_[static_cast<std::size_t>(away.priority)].shed;
    return &away;
}

job& ranked_queue::pop() noexcept {
    const auto highest = static_cast<std::size_t>(std::bit_width(occupied_)) - 1;
    level& l = levels_[highest];
    job* chosen = nullptr;
    if (!l.timed.empty()) {
        chosen = l.timed.extract(l.timed.begin()).value();
    } else {
        chosen = l.first;
        l.first = chosen->next_;
        (l.first == nullptr ? l.last : l.first->previous_) = nullptr;
    }
    count_out(highest);
    return *chosen;
}

/// Removes and returns the job that would begin last of all. REQUIRES: !empty()
job& ranked_queue::pop_last() noexcept {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(occupied_));
    level& l = levels_[lowest];
    job* chosen = l.last;
    if (chosen == nullptr) {
        chosen = l.timed.extract(std::prev(l.timed.end())).value();
    } else {
        l.last = chosen->previous_;
        (l.last == nullptr ? l.first : l.last->next_) = nullptr;
    }
    count_out(lowest);
    return *chosen;
}

void ranked_queue::count_out(std::size_t priority) noexcept {
    --size_;
    if (--levels_[priority].size == 0) occupied_ &= ~(std::uint32_t{1} << priority);
}

}  // namespace tutti::server
