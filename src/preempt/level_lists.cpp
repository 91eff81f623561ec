#include "preempt/level_lists.hpp"

namespace tutti::preempt {
namespace {

bool goes_before(const listed& a, const listed& b) noexcept {
    return a.due.has_value() && (!b.due.has_value() || *a.due < *b.due);
}

}  // namespace

void level_lists::insert(listed& l, unsigned level) noexcept {
    list& in = levels_[level];
    // Searches from the back, because a context that comes later is usually due later.
    listed* before = in.last;
    while (before != nullptr && goes_before(l, *before)) before = before->previous;
    l.in_level = level;
    l.previous = before;
    l.next = before != nullptr ? before->next : in.first;
    (l.previous != nullptr ? l.previous->next : in.first) = &l;
    (l.next != nullptr ? l.next->previous : in.last) = &l;
    occupied_ |= std::uint64_t{1} << level;
}

void level_lists::remove(listed& l) noexcept {
    list& in = levels_[l.in_level];
    (l.previous != nullptr ? l.previous->next : in.first) = l.next;
    (l.next != nullptr ? l.next->previous : in.last) = l.previous;
    l.next = l.previous = nullptr;
    if (in.first == nullptr) occupied_ &= ~(std::uint64_t{1} << l.in_level);
}

listed& level_lists::take_first(unsigned level) noexcept {
    listed& l = *levels_[level].first;
    remove(l);
    return l;
}

}  // namespace tutti::preempt
