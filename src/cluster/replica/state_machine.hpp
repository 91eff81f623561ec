// The state machine that each member of a group holds: the records, as the entries of the log have written them. It is
// deterministic: members that have applied the same entries have equal state machines, byte for byte of `save`.
//
//   RSM1  The version of a record is the number of the commit that wrote it last. Commits that wrote something are
//         counted from 2 on; the empty state is 1. Prepared transactions are counted, too (RSM5). So versions ascend in
//         the order of the log, also within one entry, and are never reused. A save carries the count (ENG1, ENG6).
//   RSM2  A commit is checked against the state that everything before it has left, within its entry, too. It writes
//         all of its writes, or nothing (ENG3).
//   RSM3  An erased record stays as its version, without bytes, until `forget`, or until more than `max_erased` records
//         are erased. An entry that leaves more drops the ones with the lowest versions, down to half of `max_erased`.
//         `absence` is the highest version among the dropped ones, 0 at first. A key without a record answers as absent
//         with that version. So a program that read "absent" before the record was made notices that the record has
//         been there (ENG1): the record is in the table, or `absence` has grown beyond the version that the program
//         read. A save carries `absence`, and so does an import (RSM7). The dropped records depend on the table and on
//         the entry alone, so members stay equal. A drop has a version of its own, so states of the history window show
//         what was known in them (RSM4). A check of version `unwritten` asks whether there is no record.
//   RSM4  The states of a *history window* of versions can still be read (ENG2): from `floor` to `latest`. A replaced
//         record is kept until the window exceeds its limits. Members need not agree on the window, and it is not
//         saved: a member that has loaded a save begins with an empty window.
//   RSM5  A *prepared* transaction is one of several groups that this group has checked, and whose decision is in
//         another group. Its reads were current, and stay current. Its writes are written when it is finished, if it
//         commits. Until then it holds both (prepared_transactions.hpp). A commit that conflicts with it is refused,
//         and gets its id. So is a get of a record that it writes, in the state that it was prepared in and in later
//         states: this group does not know the decision, which may already have replaced the record. The state after a
//         prepare has a version of its own. So a member that has a state of that version knows what was prepared in it.
//   RSM6  A transaction is finished at most once. A transaction that is not prepared here is not finished. It is not
//         prepared again either, because no program sends a prepare twice. A finished transaction is a commit of that
//         moment (RSM1).
//   RSM7  An *import* puts records here as they were in another group. The records keep their versions, and the count
//         is raised above these. So later writes here have versions that the records never had there (ENG1). A newer
//         record stays, so a late import does no harm. A record of version 0 is removed, but stays in earlier states.
//         The state in which a record arrived differs from its version, and the history window uses that state (RSM4).
//         An import also carries the `absence` of the other group, which raises this group's absence and count. So a
//         record that the other group has dropped is not absent here with a version that a program may have read
//         before (RSM3).
//   RSM8  An *image* is the state of one instant, written in pieces while later entries change the state machine. The
//         table is divided into shards, and a piece holds several complete shards. A record of an unwritten shard is
//         copied into the image before its first change. So the image takes memory for records that change meanwhile,
//         and no call takes longer than a piece.
//
// Not thread-safe, but const members may run concurrently with each other.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/entry.hpp"
#include "cluster/replica/prepared_transactions.hpp"

namespace tutti::cluster::replica {

/// The limits of the replaced records that are kept (RSM4).
struct history_window {
    std::size_t writes = 100000;
    std::size_t bytes = 64u << 20;  ///< keys and values
};

/// The result of one operation of an entry. A forget is always good, and so is a finish.
struct operation_result {
    backend::engine_status status = backend::engine_status::refused;  ///< good, conflict, or refused
    version at = 0;                              ///< of its writes; the latest version if it wrote nothing
    std::string why;                             ///< why it was refused
    backend::blocking_transaction blocked_by{};  ///< of a conflict: the blocking transaction (RSM5), or none
};

struct applied_entry {
    bool is_readable = true;  ///< false: no operation was applied
    std::string why;          ///< why it is not readable
    std::vector<operation_result> results;
};

/// Counts, for the operator.
struct state_statistics {
    std::size_t objects = 0;
    std::size_t erased = 0;                       ///< records that are only a version
    std::size_t bytes = 0;                        ///< keys and values of both
    std::size_t kept_writes = 0, kept_bytes = 0;  ///< in the history window
    std::size_t prepared = 0;                     ///< transactions that wait to be finished (RSM5)
};

class state_machine {
public:
    static constexpr std::size_t default_max_erased = 16384;
    /// REQUIRES: all members of a group have the same `max_erased` (RSM3), 1 at least.
    explicit state_machine(history_window history_limit = {}, std::size_t max_erased = default_max_erased)
        : history_limit_{history_limit}, max_erased_{max_erased} {}

    /// Applies the next entry of the log. O(operations + dropped records). Bytes that are not an entry change nothing.
    /// A member that finds such bytes has another log than the leader wrote, and should stop.
    applied_entry apply(std::string_view entry);

    /// Reads as in ENG2: the state of `of.at` if that is not 0 and `how` allows it, or else the latest state, which
    /// `of` is set to. Returns good or conflict. A conflict has one of three reasons: a held record has another version
    /// in that state, the history window does not reach that state, or a transaction holds a record. `of.blocked_by`
    /// names that transaction if it is not finished (RSM5).
    [[nodiscard]] backend::engine_status get(backend::read_snapshot& of, backend::freshness how,
                                             std::span<const backend::check> held, std::span<const key> wanted,
                                             std::vector<backend::record>& found) const;

    /// Appends a piece of the current records with the wanted keys, from the returned position of the last call on.
    /// Begins anew if that position is of another state machine. Takes complete shards, until it has looked at
    /// `max_records` records or has `max_bytes`.
    struct list_position {
        std::uint64_t buckets = 0, next = 0;  ///< next = buckets: all of it has been listed
    };
    void list(list_position& from, std::size_t max_records, std::size_t max_bytes,
              const std::function<bool(std::string_view)>& wanted, std::vector<backend::change>& all) const;

    /// Appends the writes of complete commits after the version `place`, in their order, until there are `max_changes`
    /// or no more. Moves `place` to the last of these commits. Returns false if the history window does not reach that
    /// far back, or `place` is not a version of this group: changes would be missed.
    [[nodiscard]] bool changes_after(version& place, std::size_t max_changes, std::vector<backend::change>& all) const;

    /// Returns the transactions that wait to be finished (RSM5), at most `max_transactions`.
    [[nodiscard]] std::vector<backend::blocking_transaction> prepared(std::size_t max_transactions) const {
        return prepared_.list(max_transactions);
    }

    [[nodiscard]] version latest() const noexcept { return latest_; }
    /// Returns the absence of the latest state (RSM3).
    [[nodiscard]] version absence() const noexcept { return absences_.back().is.at; }
    /// Returns the oldest version whose state can be read.
    [[nodiscard]] version floor() const noexcept { return floor_; }
    [[nodiscard]] state_statistics statistics() const noexcept;

    /// Returns the state that members agree on, in an order that does not depend on the history. O(n log n).
    [[nodiscard]] std::string save() const;

    /// Begins an image of the current state (RSM8), which replaces an earlier image. O(prepared transactions).
    void begin_image();
    [[nodiscard]] bool has_image() const noexcept { return image_ != nullptr; }
    /// Appends the next piece: at most `max_shards` shards, and no further shard once it has `max_bytes`. Returns true
    /// after the last piece, which ends the image. All pieces together equal `save`, except for the order of the
    /// records and the checksum, which `finish_checksummed` adds. REQUIRES: has_image.
    [[nodiscard]] bool next_piece(std::size_t max_shards, std::size_t max_bytes, std::string& piece);
    void drop_image() noexcept { image_.reset(); }

    /// Returns true for unchanged bytes of `save`.
    [[nodiscard]] static bool is_complete(std::string_view saved) noexcept;
    /// Replaces everything. Throws backend::engine_error, and changes nothing, for bytes that `save` has not made.
    void load(std::string_view saved);

private:
    /// A former state of a record.
    struct previous_record {
        backend::record is;
        version since = 0;
        version held_from =
            no_version;  // RSM5: from that state on, the prepared write that replaced it may have been decided
    };
    /// A record, and its former states, the oldest first.
    struct versioned_record {
        backend::record now;
        version since = 0;  ///< the state that it came with: its version, or a later one if it was imported
        std::unique_ptr<std::deque<previous_record>> before;  // null: there are none
        std::uint32_t image = 0;  // RSM8: the latest image that has this record's former state
    };
    static constexpr version no_version = ~version{0};
    struct replaced_write {
        version by = 0;
        key of;
        std::size_t bytes = 0;
    };
    using record_table = std::unordered_map<key, versioned_record, key_hash, std::equal_to<>>;
    static constexpr std::size_t shard_count = 1024;
    /// An image that is being written (RSM8).
    struct image {
        std::uint32_t number = 0;
        std::size_t next = 0;                                // of the shards
        std::string front, back;                             // around the records
        std::vector<std::pair<key, backend::record>> saved;  // records before their change, not written yet
    };

    [[nodiscard]] operation_result commit(const operation& o);
    [[nodiscard]] operation_result prepare(const operation& o);
    [[nodiscard]] operation_result finish(const operation& o);
    [[nodiscard]] operation_result import_records(const operation& o);
    void forget(const operation& o);
    [[nodiscard]] bool is_current(const check_view& c) const;
    [[nodiscard]] bool checks_pass(const operation& o) const;
    void put(const write_view& w, version at, version held_from = no_version);
    void put(std::string_view of, backend::record is, version since, version held_from);
    /// REQUIRES: `k` is the key in the table.
    void count(const key& k, const backend::record& r, bool more);
    /// Drops erased records (RSM3), after an entry that has erased `erased_now`.
    void drop_erased(std::size_t erased_now);
    void raise_absence(version to, version since);
    /// Returns the absent record of keys without a record in the state `at`.
    [[nodiscard]] const backend::record& absent_in(version at) const;
    void shrink();
    [[nodiscard]] static std::size_t shard_of(std::string_view k) noexcept { return key_hash{}(k) % shard_count; }
    [[nodiscard]] record_table& shard(std::string_view k) noexcept { return shards_[shard_of(k)]; }
    /// Returns null if there is none.
    [[nodiscard]] const versioned_record* find(std::string_view k) const;
    /// Saves `c` for the image before `c` changes or is removed (RSM8).
    void save_for_image(const key& k, versioned_record& c);
    struct visible_state {
        const backend::record& is;
        const prepared_transaction* by = nullptr;  // the unfinished transaction that holds it, or null
        bool is_held = false;                      // a transaction, finished or not, held it in that state
    };
    /// Returns the record as it was in the state `at`.
    /// REQUIRES: `at` is not below the floor.
    [[nodiscard]] visible_state as_of(std::string_view k, version at) const;

    /// The version of keys without a record, from the state `since` on (RSM3).
    struct absent_since {
        version since = 0;
        backend::record is;
    };
    struct by_version {
        bool operator()(const std::pair<version, const key*>& a, const std::pair<version, const key*>& b) const {
            return a.first != b.first ? a.first < b.first : *a.second < *b.second;
        }
    };

    history_window history_limit_;
    std::size_t max_erased_;
    std::set<std::pair<version, const key*>, by_version> erased_;      // points to keys in the table
    std::deque<absent_since> absences_ = std::deque<absent_since>(1);  // at least one, by ascending states
    std::size_t erased_now_ = 0;                                       // erased by the entry that is being applied
    std::vector<record_table> shards_ = std::vector<record_table>(shard_count);
    std::unique_ptr<image> image_;
    std::uint32_t images_ = 0;  // number of begun images
    prepared_transactions prepared_;
    std::deque<replaced_write> order_;  // by ascending version
    version latest_ = 1;                // the version of the empty state; 0 is not a snapshot
    version floor_ = 1;
    state_statistics statistics_;
};

}  // namespace tutti::cluster::replica
