#include "preempt/ready_queue.hpp"

#include <algorithm>

namespace tutti::preempt {

ready_queue::ready_queue(unsigned workers, unsigned highest, promotion how, bool migrates)
    : highest_{highest}, how_{how}, migrates_{migrates}, active_(migrates ? 1 : workers) {}

void ready_queue::admit(context& c) noexcept {
    c.state = condition::standing;
    c.level = std::min(c.what.priority, highest_);
    c.preemptions = 0;
    c.lent = 0;
    c.due = c.what.due;
    standing_.insert(c, c.level);
    ++standing_count_;
    ++standing_at_[c.level];
}

context* ready_queue::last_below(unsigned level) const noexcept {
    auto* const last = static_cast<context*>(standing_.last());
    return last != nullptr && last->in_level < level ? last : nullptr;
}

void ready_queue::withdraw(context& c) noexcept {
    standing_.remove(c);
    --standing_count_;
    --standing_at_[c.level];
}

void ready_queue::put_back(context& c, unsigned worker) noexcept {
    c.state = condition::active;
    active_of(worker).insert(c, c.effective_level());
    ++active_count_;
}

int ready_queue::next_level(unsigned worker) const noexcept {
    return std::max(standing_.highest(), highest_active(worker));
}

unsigned ready_queue::standing_since(unsigned level, std::uint64_t order, unsigned most) const noexcept {
    unsigned count = 0;
    for (const listed* l = standing_.first(level); l != nullptr && most != 0; l = l->next, --most)
        count += static_cast<const context*>(l)->order < order ? 1u : 0u;
    return count;
}

context* ready_queue::take(unsigned worker) noexcept {
    const int level = next_level(worker);
    if (level < 0) return nullptr;
    level_lists& active = active_of(worker);
    const bool hot = active.highest() == level;
    auto& c = static_cast<context&>((hot ? active : standing_).take_first(static_cast<unsigned>(level)));
    --(hot ? active_count_ : standing_count_);
    if (!hot) --standing_at_[c.level];
    c.state = condition::running;
    return &c;
}

void ready_queue::reorder(context& c, unsigned worker) noexcept {
    level_lists& in = c.state == condition::standing ? standing_ : active_of(worker);
    in.remove(c);
    in.insert(c, c.effective_level());
}

void ready_queue::count_preemption(context& c) const noexcept {
    ++c.preemptions;
    const unsigned ceiling = std::min(how_.highest, highest_);
    if (c.level >= ceiling) return;
    if (c.preemptions >= how_.most_preemptions) c.level = ceiling;
    else if (how_.lazy) ++c.level;
}

}  // namespace tutti::preempt
