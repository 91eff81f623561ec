// The objects that one context's block has opened, in slots that ref<T> uses. The class does not depend on whether
// nodes or an engine hold the objects.
//
// Not thread-safe: a participant belongs to its context.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "api/hooks/data_participant.hpp"
#include "cluster/participant/attempt_counters.hpp"
#include "tutti/cluster/node.hpp"
#include "tutti/cluster/open_nesting.hpp"
#include "tutti/tx.hpp"

namespace tutti::cluster {

class object_participant : public core::data_participant {
public:
    explicit object_participant(core::descriptor& of) noexcept : descriptor_{of} {}

    /// Returns the slot of an object. Opens the object first if it is not open. May exit by a restart or an error, and
    /// does so if the attempt is not sound. May use `found` as a hint, and may set the hint.
    virtual detail::slot& open(const object_id& id, detail::location_hint& found) = 0;
    /// Opens the object as `open` does, for writing. Changes of the slot are undone when the innermost block is rolled
    /// back. A roll-back of the outermost block discards all slots.
    detail::slot& open_to_write(const object_id& id, detail::location_hint& found);
    /// Begins a fast-path attempt if possible. Otherwise returns null, without any effect.
    [[nodiscard]] virtual detail::fast_path_attempt* open_fast_path() noexcept = 0;
    virtual void open(std::span<const object_id> ids) = 0;
    /// Requests the objects. May return before they arrive. A later `open` of one of the objects waits for its arrival.
    virtual void prefetch(std::span<const object_id> ids) { open(ids); }
    /// Acquires abstract locks until the outermost block ends. May exit by a restart or an error.
    virtual void acquire(std::span<const named_lock> locks) = 0;
    /// Returns the counters. Any thread may read them.
    [[nodiscard]] const attempt_counters& counters() const noexcept { return counters_; }

    [[nodiscard]] bool commit_one_phase() noexcept override { return false; }

protected:
    /// Returns one of the slots. Attempts reuse the slots to keep their memory. There are as many slots as objects were
    /// ever open at once.
    [[nodiscard]] detail::slot& slot_at(std::size_t i) {
        while (slots_.size() <= i) slots_.emplace_back();
        return slots_[i];
    }
    [[nodiscard]] std::size_t slot_count() const noexcept { return slots_.size(); }
    /// Fills the slot with an object as it was read.
    static void fill(detail::slot& s, const std::string& bytes, bool exists) noexcept {
        s.bytes = &bytes;
        s.exists = exists;
        s.written = s.decoded = false;
    }
    /// Begins a step: objects opened from now on belong to the block that runs now. `known` is the number of objects
    /// that are open already. The outermost block needs no steps, because a roll-back to the outermost block is a new
    /// attempt, which forgets all objects.
    void begin_step(std::size_t known) {
        if (descriptor_.frame_->parent != nullptr) add_step(known);
    }
    /// Returns the block to roll back to after a conflict that leaves the first `valid_prefix` objects valid, or null.
    /// If `valid_prefix` equals `known`, the next object was unavailable.
    [[nodiscard]] const tutti::detail::frame* rollback_target(std::size_t valid_prefix, std::size_t known);
    /// Forgets all objects except the first `kept` in the order of opening, because a nested block alone is rolled back
    /// and runs again.
    virtual void drop_objects(std::size_t kept) noexcept = 0;
    /// Joins the running attempt, and returns the result of api::join_attempt. May exit by a restart.
    /// REQUIRES: this participant has not joined yet.
    bool join();
    /// Joins the attempt of a block that has no step from an earlier attempt. Does not update the counters.
    /// REQUIRES: the conditions of api::join_as_single_voter.
    TUTTI_ALWAYS_INLINE void join_alone() noexcept {
        api::join_as_single_voter(descriptor_, *this);
        joined_attempt_ = descriptor_.own_sequence;
    }
    [[nodiscard]] bool has_steps() const noexcept { return !steps_.empty(); }
    /// Returns true if the attempt has requested to write an object.
    [[nodiscard]] bool may_write() const noexcept { return may_write_; }
    void set_may_write(bool may = true) noexcept { may_write_ = may; }
    [[nodiscard]] bool is_joined() const noexcept { return joined_attempt_ == descriptor_.own_sequence; }

    core::descriptor& descriptor_;
    unsigned conflicts_in_a_row_ = 0;  // consecutive restarts that objects have caused
    attempt_counters counters_;

private:
    void save_overwritten(detail::slot& s);
    void add_step(std::size_t known);
    void drop_step() noexcept final;

    tutti::detail::word joined_attempt_ = 0;  // own_sequence of the attempt that was joined last
    std::deque<detail::slot> slots_;
    bool may_write_ = false;
    std::vector<std::size_t> steps_;  // how many objects were open when each step began
};

}  // namespace tutti::cluster
