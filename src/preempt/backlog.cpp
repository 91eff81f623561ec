#include "preempt/backlog.hpp"

#include <iterator>

namespace tutti::preempt {

bool backlog::goes_before::operator()(const item& a, const item& b) const noexcept {
    if (a.what.priority != b.what.priority) return a.what.priority > b.what.priority;
    const base::deadline mine = a.what.due.value_or(base::deadline::max());
    const base::deadline theirs = b.what.due.value_or(base::deadline::max());
    return mine != theirs ? mine < theirs : a.order < b.order;
}

void backlog::push(const item& i) {
    items_.insert(i);
    ++by_priority_[i.what.priority];
}

backlog::item backlog::pop() noexcept { return take_out(items_.begin()); }

backlog::item backlog::pop_last() noexcept { return take_out(std::prev(items_.end())); }

backlog::item backlog::take_out(std::set<item, goes_before>::const_iterator which) noexcept {
    const item out = *which;
    items_.erase(which);
    --by_priority_[out.what.priority];
    return out;
}

}  // namespace tutti::preempt
