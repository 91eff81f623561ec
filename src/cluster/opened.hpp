// The objects that the block of one context has opened: the slots that ref<T> works on, whoever holds the objects.
//
// Not thread-safe: it belongs to its context.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "api/companion.hpp"
#include "cluster/tally.hpp"
#include "tutti/cluster/node.hpp"
#include "tutti/cluster/open_nesting.hpp"
#include "tutti/tx.hpp"

namespace tutti::cluster {

class opened : public core::companion {
public:
    explicit opened(core::descriptor& of) noexcept : descriptor_{of} {}

    /// The slot of an object, opened if it is not. May leave by a restart, or an error, also where the attempt is not
    /// sound. `found` may be followed, and set.
    virtual detail::slot& open(const object_id& id, detail::hint& found) = 0;
    /// The same; what the slot says from now on is undone when the innermost block is rolled back. With the outermost
    /// block everything goes.
    virtual detail::slot& open_to_write(const object_id& id, detail::hint& found);
    /// Begins a light attempt, if that is possible. Null: nothing has happened.
    [[nodiscard]] virtual detail::light_attempt* open_lightly() noexcept = 0;
    virtual void open(std::span<const object_id> ids) = 0;
    /// Asks for them and may return before they come: the call of `open` for one of them waits.
    virtual void ask_ahead(std::span<const object_id> ids) { open(ids); }
    /// Takes abstract locks until the outermost block ends. May leave by a restart, or an error.
    virtual void acquire(std::span<const named_lock> locks) = 0;
    /// Any thread may read it.
    [[nodiscard]] const tally& counted() const noexcept { return tally_; }

    [[nodiscard]] bool commit_alone() noexcept override { return false; }

protected:
    /// One of the slots that serve attempt after attempt, for their memory: as many as objects were open at once.
    [[nodiscard]] detail::slot& slot_number(std::size_t i) {
        while (slots_.size() <= i) slots_.emplace_back();
        return slots_[i];
    }
    [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
    /// It is that object's from now on, as it was read.
    static void fill(detail::slot& s, const std::string& bytes, bool exists) noexcept {
        s.bytes = &bytes;
        s.exists = exists;
        s.written = s.decoded = false;
    }
    /// What is opened from now on belongs to the block that is open now. `known` objects are open already.
    /// What the outermost block opens is no step: it is never forgotten alone, and to go back for it is to start over.
    void begin_step(std::size_t known) {
        if (descriptor_.frame_->parent != nullptr) note_step(known);
    }
    /// The block to go back to for a conflict that leaves the first `standing` objects as they are, or null. If these
    /// are all that are `known`, the next one could not be had.
    [[nodiscard]] const tutti::detail::frame* way_back(std::size_t standing, std::size_t known);
    /// A block runs again alone: forgets all objects but the first `kept`, in the order in which they were opened.
    virtual void forget_objects(std::size_t kept) noexcept = 0;
    /// Joins the attempt that runs, and returns what api::join_attempt does. May leave by a restart. REQUIRES: it has
    /// not.
    bool join();
    /// The same of a block that has left no step. Tells the tally nothing. REQUIRES: what api::join_alone does.
    TUTTI_ALWAYS_INLINE void join_alone() noexcept {
        api::join_alone(descriptor_, *this);
        attempt_ = descriptor_.own_sequence;
    }
    [[nodiscard]] bool has_steps() const noexcept { return !steps_.empty(); }
    /// Whether the attempt has asked to write an object.
    [[nodiscard]] bool may_write() const noexcept { return may_write_; }
    void note_write(bool may = true) noexcept { may_write_ = may; }
    [[nodiscard]] bool joined() const noexcept { return attempt_ == descriptor_.own_sequence; }

    core::descriptor& descriptor_;
    unsigned defeats_ = 0;  // restarts in a row that objects were the cause of
    tally tally_;

private:
    void note_overwritten(detail::slot& s);
    void note_step(std::size_t known);
    void forget_step() noexcept final;

    tutti::detail::word attempt_ = 0;  // own_sequence of the attempt that it has joined
    std::deque<detail::slot> slots_;
    bool may_write_ = false;
    std::vector<std::size_t> steps_;  // how many objects were open when each began
};

}  // namespace tutti::cluster
