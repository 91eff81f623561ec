// An attempt of a client: what it does goes into a history, and a conflict goes back to a block that is open in it, as
// in the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/history.hpp"
#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster::testing {

class recording {
public:
    recording(transaction& of, history& in) noexcept : work_{of}, history_{in} {}

    void begin(unsigned client) {
        tag_ = history_.begin(client);
        planned_.clear();
        open_.clear();
        asks_ = false;
    }
    [[nodiscard]] attempt& entry_in_history() { return history_.of(tag_); }
    /// The body has seen it. REQUIRES: it is open.
    void saw(const object_id& id);
    /// At the end it is to be this attempt's, or to be no more.
    void plan_write(const object_id& id, bool exists = true);
    [[nodiscard]] bool writes() const noexcept { return !planned_.empty(); }
    void write_as_planned();
    void committed(std::uint64_t version, std::uint64_t now = 0) {
        attempt& a = entry_in_history();
        a.committed = true;
        a.version = version;
        a.ended = now;
        asks_ = false;
    }
    void refused() noexcept { asks_ = false; }
    /// Nobody tells its client what has become of it; not even whether it has committed, if it has asked for that.
    void left_alone() {
        if (asks_) entry_in_history().maybe = true;
    }

    /// A block of the steps from one to another begins. It lasts no longer than the one around it.
    void open_block(unsigned first, unsigned last, bool checkpoint);
    /// Whether no block has begun with that step yet.
    [[nodiscard]] bool may_begin_block(unsigned step) const noexcept {
        return open_.empty() || open_.back().first != step;
    }
    /// Ends those whose last step it was, a checkpoint as of `now`.
    [[nodiscard]] outcome end_blocks(unsigned step, std::uint64_t now);
    /// After a conflict: the step to go on from, or nothing, if the attempt has to start over.
    [[nodiscard]] std::optional<unsigned> go_back();

private:
    struct block {
        unsigned first, last;
        bool checkpoint;
        std::size_t opened, reads, writes;  // before it
    };
    struct planned_write {
        object_id id;
        bool exists;
    };

    transaction& work_;
    history& history_;
    writer_tag tag_ = 0;
    std::vector<planned_write> planned_;
    std::vector<block> open_;
    bool asks_ = false;  // to commit
};

/// What a writer's value is, and whose a value is.
[[nodiscard]] std::string bytes_of(writer_tag tag);
[[nodiscard]] writer_tag tag_of(const std::string& bytes);

/// Whether every object that a transaction has read is as it was, on the node that owns it. What does not exist may
/// have been forgotten since (S9), and has another version then.
[[nodiscard]] bool is_as_it_was_read(const transaction& work, std::span<const std::unique_ptr<site>> sites);

}  // namespace tutti::cluster::testing
