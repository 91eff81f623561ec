#include "preempt/backlog.hpp"

#include <algorithm>

namespace tutti::preempt {
namespace {

bool goes_after(const backlog::item& a, const backlog::item& b) noexcept {
    if (a.what.priority != b.what.priority) return a.what.priority < b.what.priority;
    const base::deadline mine = a.what.due.value_or(base::deadline::max());
    const base::deadline theirs = b.what.due.value_or(base::deadline::max());
    return mine != theirs ? mine > theirs : a.order > b.order;
}

}  // namespace

void backlog::push(const item& i) {
    heap_.push_back(i);
    std::ranges::push_heap(heap_, goes_after);
    ++by_priority_[i.what.priority];
}

backlog::item backlog::pop() noexcept {
    std::ranges::pop_heap(heap_, goes_after);
    const item first = heap_.back();
    heap_.pop_back();
    --by_priority_[first.what.priority];
    return first;
}

}  // namespace tutti::preempt
