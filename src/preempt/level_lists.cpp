#include "preempt/level_lists.hpp"

namespace tutti::preempt {
namespace {

bool goes_before(const level_list_node& a, const level_list_node& b) noexcept {
    return a.due.has_value() && (!b.due.has_value() || *a.due < *b.due);
}

}  // namespace

void level_lists::insert(level_list_node& l, unsigned level) noexcept {
    list& in = levels_[level];
    // The search starts at the back, because a context that arrives later usually has a later deadline.
    level_list_node* before = in.last;
    while (before != nullptr && goes_before(l, *before)) before = before->previous;
    l.list_level = level;
    l.previous = before;
    l.next = before != nullptr ? before->next : in.first;
    (l.previous != nullptr ? l.previous->next : in.first) = &l;
    (l.next != nullptr ? l.next->previous : in.last) = &l;
    occupied_ |= std::uint64_t{1} << level;
}

void level_lists::remove(level_list_node& l) noexcept {
    list& in = levels_[l.list_level];
    (l.previous != nullptr ? l.previous->next : in.first) = l.next;
    (l.next != nullptr ? l.next->previous : in.last) = l.previous;
    l.next = l.previous = nullptr;
    if (in.first == nullptr) occupied_ &= ~(std::uint64_t{1} << l.list_level);
}

level_list_node& level_lists::take_first(unsigned level) noexcept {
    level_list_node& l = *levels_[level].first;
    remove(l);
    return l;
}

}  // namespace tutti::preempt
