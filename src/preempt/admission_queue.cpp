#include "preempt/admission_queue.hpp"

#include <iterator>

namespace tutti::preempt {

bool admission_queue::goes_before::operator()(const item& a, const item& b) const noexcept {
    if (a.accepted.priority != b.accepted.priority) return a.accepted.priority > b.accepted.priority;
    const base::deadline mine = a.accepted.due.value_or(base::deadline::max());
    const base::deadline theirs = b.accepted.due.value_or(base::deadline::max());
    return mine != theirs ? mine < theirs : a.order < b.order;
}

void admission_queue::push(const item& i) {
    items_.insert(i);
    ++by_priority_[i.accepted.priority];
}

admission_queue::item admission_queue::pop() noexcept { return remove(items_.begin()); }

admission_queue::item admission_queue::pop_last() noexcept { return remove(std::prev(items_.end())); }

admission_queue::item admission_queue::remove(std::set<item, goes_before>::const_iterator which) noexcept {
    const item out = *which;
    items_.erase(which);
    --by_priority_[out.accepted.priority];
    return out;
}

}  // namespace tutti::preempt
