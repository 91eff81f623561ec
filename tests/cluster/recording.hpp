// Records an attempt of a client in a history. After a conflict, the attempt rolls back to an open block, as in the
// engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/history.hpp"
#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster::testing {

class recording {
public:
    recording(distributed_transaction& of, history& in) noexcept : work_{of}, history_{in} {}

    void begin(unsigned client) {
        tag_ = history_.begin(client);
        planned_.clear();
        open_.clear();
        asks_ = false;
    }
    [[nodiscard]] attempt& entry_in_history() { return history_.of(tag_); }
    /// Records that the body has seen the object. REQUIRES: the object is open.
    void saw(const object_id& id);
    /// Plans a write. When the attempt commits, the object has this attempt's value, or no longer exists.
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
    /// Records that the client does not learn the outcome. If the attempt has asked to commit, even the commit is
    /// unknown.
    void left_alone() {
        if (asks_) entry_in_history().maybe = true;
    }

    /// Opens a block of steps `first` to `last`. The block lasts at most as long as the block around it.
    void open_block(unsigned first, unsigned last, bool checkpoint);
    /// Returns true if no block has begun with this step yet.
    [[nodiscard]] bool may_begin_block(unsigned step) const noexcept {
        return open_.empty() || open_.back().first != step;
    }
    /// Ends the blocks whose last step is `step`. A checkpoint validates as of time `now`.
    [[nodiscard]] protocol_status end_blocks(unsigned step, std::uint64_t now);
    /// Handles a conflict. Returns the step to go on from, or nothing if the attempt has to start over.
    [[nodiscard]] std::optional<unsigned> go_back();

private:
    struct block {
        unsigned first, last;
        bool checkpoint;
        std::size_t opened, reads, writes;  // the counts before the block
    };
    struct planned_write {
        object_id id;
        bool exists;
    };

    distributed_transaction& work_;
    history& history_;
    writer_tag tag_ = 0;
    std::vector<planned_write> planned_;
    std::vector<block> open_;
    bool asks_ = false;  // true once the attempt has asked to commit
};

/// Encodes a writer's tag as its value, and decodes a value back into the tag.
[[nodiscard]] std::string bytes_of(writer_tag tag);
[[nodiscard]] writer_tag tag_of(const std::string& bytes);

/// Returns true if every object that the transaction has read is unchanged on the node that owns it. An object that
/// does not exist may have been forgotten since (DIR9), and then has another version.
[[nodiscard]] bool is_as_it_was_read(const distributed_transaction& work,
                                     std::span<const std::unique_ptr<protocol_node>> nodes);

}  // namespace tutti::cluster::testing
