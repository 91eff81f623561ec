#include "server/calls/ranked_queue.hpp"

#include <algorithm>
#include <bit>

namespace tutti::server {

bool ranked_queue::later(const job* a, const job* b) noexcept {
    return a->due != b->due ? a->due > b->due : a->order_ > b->order_;
}

void ranked_queue::push(job& j) {
    level& l = levels_[static_cast<std::size_t>(j.priority)];
    j.order_ = arrivals_++;
    if (j.due != no_deadline) {
        l.timed.push_back(&j);
        std::ranges::push_heap(l.timed, later);
    } else {
        j.next_ = nullptr;
        if (l.first == nullptr) l.first = &j;
        else l.last->next_ = &j;
        l.last = &j;
    }
    ++l.size;
    ++size_;
    occupied_ |= std::uint32_t{1} << j.priority;
}

job& ranked_queue::pop() noexcept {
    const int highest = static_cast<int>(std::bit_width(occupied_)) - 1;
    level& l = levels_[static_cast<std::size_t>(highest)];
    job* chosen = nullptr;
    if (!l.timed.empty()) {
        std::ranges::pop_heap(l.timed, later);
        chosen = l.timed.back();
        l.timed.pop_back();
    } else {
        chosen = l.first;
        l.first = chosen->next_;
    }
    --size_;
    if (--l.size == 0) occupied_ &= ~(std::uint32_t{1} << highest);
    return *chosen;
}

}  // namespace tutti::server
