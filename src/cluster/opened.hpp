// The objects that the block of one context has opened: the slots that ref<T> works on, whoever holds the objects.
//
// Not thread-safe: it belongs to its context.
#pragma once

#include <deque>
#include <span>

#include "cluster/tally.hpp"
#include "core/state/descriptor.hpp"
#include "tutti/cluster/node.hpp"
#include "tutti/tx.hpp"

namespace tutti::cluster {

class opened : public participant {
public:
    explicit opened(core::descriptor& of) noexcept : descriptor_{of} {}

    /// The slot of an object, opened if it is not. May leave by a restart, or an error.
    virtual detail::slot& open(const object_id& id) = 0;
    virtual void open(std::span<const object_id> ids) = 0;
    /// What the slot says from now on is undone when the innermost block is rolled back.
    void note_for_undo(detail::slot& s);
    /// Any thread may read it.
    [[nodiscard]] const tally& counted() const noexcept { return tally_; }

protected:
    detail::slot& add(const object_id& id, const std::string& bytes, bool exists);
    void forget_slots() noexcept { used_ = 0; }
    [[nodiscard]] std::size_t slots() const noexcept { return used_; }
    [[nodiscard]] detail::slot& slot_at(std::size_t i) noexcept { return slots_[i]; }
    /// Joins the attempt that runs, if it has not: true then. May leave by a restart.
    bool join();
    [[nodiscard]] bool joined() const noexcept { return attempt_ == descriptor_.own_sequence; }

    core::descriptor& descriptor_;
    unsigned defeats_ = 0;  // restarts in a row that objects were the cause of
    tally tally_;

private:
    tutti::detail::word attempt_ = 0;  // own_sequence of the attempt that it has joined
    std::deque<detail::slot> slots_;   // those beyond used_ are kept for their memory
    std::size_t used_ = 0;
};

}  // namespace tutti::cluster
