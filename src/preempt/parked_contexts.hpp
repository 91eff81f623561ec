// The contexts that wait: for a transaction, until a time, or only for a thread that wakes them.
//
// Thread safety: guarded by the scheduler's lock.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "preempt/context.hpp"

namespace tutti::preempt {

class parked_contexts {
public:
    /// Ensures that the given number of contexts can be parked without an allocation. @throws std::bad_alloc
    void make_room(std::size_t contexts) {
        if (contexts > listed_.capacity()) listed_.reserve(std::max(contexts, 2 * listed_.capacity()));
    }
    /// Adds a context that is parked, or about to be parked. `awaited`: the descriptor of the transaction that the
    /// context waits for, or null. REQUIRES: make_room()
    void add(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept {
        c.is_waiting = true;
        c.awaited = awaited;
        c.wait_deadline = until;
        ++size_;
        if (awaited == nullptr && !until) return;
        c.parked_index = listed_.size();
        listed_.push_back(&c);
    }
    /// Marks a context that sleeps in retry without a limit. The context is added next.
    void mark_sleeper(context& c, core::descriptor& self) noexcept {
        c.sleeper = &self;
        ++sleepers_;
    }
    void remove(context& c) noexcept {
        if (c.awaited != nullptr || c.wait_deadline) {
            context* const last = listed_.back();
            listed_[c.parked_index] = last;
            last->parked_index = c.parked_index;
            listed_.pop_back();
        }
        --size_;
        c.in_retry = nullptr;
        if (std::exchange(c.sleeper, nullptr) != nullptr) --sleepers_;
        c.is_waiting = false;
        c.awaited = nullptr;
        c.wait_deadline.reset();
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns the number of contexts with a `sleeper`, including those that cannot be interrupted.
    [[nodiscard]] std::size_t sleepers() const noexcept { return sleepers_; }
    /// Calls `visit` for each context that waits for a transaction or until a time. `visit` may remove that context.
    /// O(number of these contexts).
    template <class F>
    void visit_listed(const F& visit) {
        // From the last to the first, because a removal moves the last context to the removed one's place.
        for (std::size_t i = listed_.size(); i-- != 0;) visit(*listed_[i]);
    }

private:
    std::vector<context*> listed_;  // the contexts with `awaited` or `wait_deadline`
    std::size_t size_ = 0;
    std::size_t sleepers_ = 0;
};

}  // namespace tutti::preempt
