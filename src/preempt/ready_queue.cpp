#include "preempt/ready_queue.hpp"

#include <algorithm>

namespace tutti::preempt {

ready_queue::ready_queue(unsigned workers, unsigned highest, priority_boost boost, bool migrates)
    : highest_{highest}, boost_{boost}, migrates_{migrates}, active_(migrates ? 1 : workers) {}

void ready_queue::admit(context& c) noexcept {
    c.state = run_state::unstarted;
    c.level = std::min(c.current_work.priority, highest_);
    c.preemptions = 0;
    c.inherited_level = 0;
    c.due = c.current_work.due;
    unstarted_.insert(c, c.level);
    ++unstarted_count_;
    ++unstarted_at_[c.level];
}

context* ready_queue::last_below(unsigned level) const noexcept {
    auto* const last = static_cast<context*>(unstarted_.last());
    return last != nullptr && last->list_level < level ? last : nullptr;
}

void ready_queue::withdraw(context& c) noexcept {
    unstarted_.remove(c);
    --unstarted_count_;
    --unstarted_at_[c.level];
}

void ready_queue::put_back(context& c, unsigned worker) noexcept {
    c.state = run_state::active;
    active_of(worker).insert(c, c.effective_level());
    ++active_count_;
}

int ready_queue::next_level(unsigned worker) const noexcept {
    return std::max(unstarted_.highest(), highest_active(worker));
}

unsigned ready_queue::unstarted_before(unsigned level, std::uint64_t order, unsigned max) const noexcept {
    unsigned count = 0;
    for (const level_list_node* l = unstarted_.first(level); l != nullptr && max != 0; l = l->next, --max)
        count += static_cast<const context*>(l)->order < order ? 1u : 0u;
    return count;
}

context* ready_queue::take_next(unsigned worker) noexcept {
    const int level = next_level(worker);
    if (level < 0) return nullptr;
    level_lists& active = active_of(worker);
    const bool hot = active.highest() == level;
    auto& c = static_cast<context&>((hot ? active : unstarted_).take_first(static_cast<unsigned>(level)));
    --(hot ? active_count_ : unstarted_count_);
    if (!hot) --unstarted_at_[c.level];
    c.state = run_state::running;
    return &c;
}

void ready_queue::reorder(context& c, unsigned worker) noexcept {
    level_lists& in = c.state == run_state::unstarted ? unstarted_ : active_of(worker);
    in.remove(c);
    in.insert(c, c.effective_level());
}

void ready_queue::count_preemption(context& c) const noexcept {
    ++c.preemptions;
    const unsigned ceiling = std::min(boost_.max_level, highest_);
    if (c.level >= ceiling) return;
    if (c.preemptions >= boost_.max_preemptions) c.level = ceiling;
    else if (boost_.lazy) ++c.level;
}

}  // namespace tutti::preempt
