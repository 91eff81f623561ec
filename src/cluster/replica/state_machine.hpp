// The state machine that each member of a group holds: the records, as the entries of the log have written them. It is
// deterministic: members that have applied the same entries have equal state machines, byte for byte of `save`.
//
//   RSM1  The version of a record is the number of the commit that wrote it last. Commits that wrote something are
//         numbered from 2 on; the empty state is 1. Prepared transactions get numbers, too (RSM5). So versions ascend
//         in the order of the log, also within one entry, and are never reused. A save contains the latest number
//         (ENG1, ENG6).
//   RSM2  A commit is checked against the state after all earlier commits, including earlier ones of its own entry. It
//         applies all of its writes, or nothing (ENG3).
//   RSM3  Of an erased record only the version is kept, until `forget`, or until more than `max_erased` records are
//         erased. An entry that exceeds this limit drops erased records with the lowest versions, down to half of
//         `max_erased`. `absence` is the highest version among the dropped records, 0 at first. A read of a key without
//         a record returns "absent" with that version. So a program that read "absent" before a record was made notices
//         later that the record has existed (ENG1). Either the record is in the table, or `absence` has grown beyond
//         the version that the program read. A save contains `absence`, and so does an import (RSM7). Which records are
//         dropped depends on the table and on the entry alone, so members stay equal. A drop has a version of its own,
//         so each state of the history window has the `absence` of its time (RSM4). A check of version `unwritten` asks
//         whether there is no record.
//   RSM4  The states of a *history window* of versions can still be read (ENG2): from `floor` to `latest`. A replaced
//         record is kept until the window exceeds its limits. Members need not agree on the window, and it is not
//         saved: a member that has loaded a save begins with an empty window.
//   RSM5  A *prepared* transaction is a transaction over several groups. This group has checked its part, and another
//         group has the decision. The transaction's reads were current, and stay current. Its writes are applied when
//         it is finished, if it commits. Until then the transaction holds the keys of its reads and writes
//         (prepared_transactions.hpp). A commit that conflicts with the transaction is refused, and the answer names
//         the transaction's id. A get of a record that the transaction writes is refused likewise, in the state after
//         the prepare and in later states. The reason: this group does not know the decision, and the decision may
//         already have replaced the record. The state after a prepare has a version of its own. So a member that has a
//         state of that version knows which transactions were prepared then.
//   RSM6  A transaction is finished at most once. A transaction that is not prepared here is not finished. It is not
//         prepared again either, because no program sends a prepare twice. A transaction counts as a commit of the
//         moment when it is finished (RSM1).
//   RSM7  An *import* puts records here as they were in another group. The records keep their versions, and the latest
//         number is raised above them. So later writes of this group have versions that the records never had in the
//         other group (ENG1). A record that is newer than the imported one stays, so a late import does no harm. An
//         imported record of version 0 removes the record here, which stays readable in earlier states. The history
//         window uses the state in which a record arrived, which differs from the record's version (RSM4). An import
//         also contains the `absence` of the other group, and raises this group's `absence` and latest number to it.
//         Otherwise a record that the other group has dropped could be absent here with a version that a program has
//         read before (RSM3).
//   RSM8  An *image* is the state of one instant, written in pieces while later entries change the state machine. The
//         table is divided into shards, and a piece holds several complete shards. A record of an unwritten shard is
//         copied into the image before its first change. So the image needs memory only for records that change before
//         their shard is written, and no call takes longer than one piece.
//
// Not thread-safe, but several threads may call const members at the same time.
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

/// How many replaced records the history window keeps (RSM4).
struct history_window {
    std::size_t writes = 100000;
    std::size_t bytes = 64u << 20;  ///< keys and values
};

/// The result of one operation of an entry. A forget always succeeds, and so does a finish.
struct operation_result {
    backend::engine_status status = backend::engine_status::refused;  ///< good, conflict, or refused
    version at = 0;                              ///< the version of its writes; the latest version if it wrote nothing
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
    std::size_t erased = 0;                       ///< records of which only the version is kept
    std::size_t bytes = 0;                        ///< keys and values of existing and erased records
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
    /// A member that finds such bytes should stop, because its log differs from the leader's.
    applied_entry apply(std::string_view entry);

    /// Reads one state, as in ENG2: the state `of.at` if `of.at` is not 0 and `how` allows that state, and otherwise
    /// the latest state. Sets `of` to that state. Returns good or conflict. A conflict has one of three reasons: a
    /// record in `held` has another version in that state, the history window does not reach that state, or a
    /// transaction holds a record. `of.blocked_by` names that transaction if it is not finished (RSM5).
    [[nodiscard]] backend::engine_status get(backend::read_snapshot& of, backend::freshness how,
                                             std::span<const backend::check> held, std::span<const key> wanted,
                                             std::vector<backend::record>& found) const;

    /// Appends the next piece of the current records with the wanted keys, from the position that the last call
    /// returned. Starts over if that position belongs to another state machine. Appends complete shards, until it has
    /// visited `max_records` records or appended `max_bytes`. Each shard counts as one more visited record.
    struct list_position {
        std::uint64_t buckets = 0, next = 0;  ///< next = buckets: the whole table has been listed
    };
    void list(list_position& from, std::size_t max_records, std::size_t max_bytes,
              const std::function<bool(std::string_view)>& wanted, std::vector<backend::change>& all) const;

    /// Appends the writes of complete commits after the version `place`, in their order, until there are `max_changes`
    /// writes or no further commit. Moves `place` to the last of these commits. Returns false if the history window
    /// does not reach back to `place`, or if `place` is not a version of this group. The caller would miss changes
    /// then.
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

    /// Returns the part of the state in which all members are equal, in an order that does not depend on the history.
    /// O(n log n).
    [[nodiscard]] std::string save() const;

    /// Begins an image of the current state (RSM8), which replaces an earlier image. O(prepared transactions).
    void begin_image();
    [[nodiscard]] bool has_image() const noexcept { return image_ != nullptr; }
    /// Appends the next piece: at most `max_shards` shards, and no further shard once it has `max_bytes`. Returns true
    /// after the last piece, which ends the image. All pieces together equal `save`, except for the order of the
    /// records and the checksum, which `finish_checksummed` adds. REQUIRES: has_image.
    [[nodiscard]] bool next_piece(std::size_t max_shards, std::size_t max_bytes, std::string& piece);
    void drop_image() noexcept { image_.reset(); }

    /// Returns true if the bytes are those that `save` has returned, unchanged.
    [[nodiscard]] static bool is_complete(std::string_view saved) noexcept;
    /// Replaces the whole state by a saved one. Throws backend::engine_error, and changes nothing, if `save` has not
    /// made these bytes.
    void load(std::string_view saved);

private:
    /// A former state of a record.
    struct previous_record {
        backend::record is;
        version since = 0;
        version held_from =
            no_version;  // RSM5: from this state on, the prepared write that replaced the record may have been decided
    };
    /// A record, and its former states, the oldest first.
    struct versioned_record {
        backend::record now;
        version since = 0;  ///< the state in which it arrived: its version, or later if it was imported
        std::unique_ptr<std::deque<previous_record>> before;  // null: there are none
        std::uint32_t image = 0;  // RSM8: number of the latest image during which this record was changed
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
        std::size_t next = 0;                                // the shard that is written next
        std::string front, back;                             // the bytes around the records
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
    /// REQUIRES: `k` refers to the key inside the table.
    void count(const key& k, const backend::record& r, bool more);
    /// Drops erased records (RSM3), after an entry that has erased `erased_now`.
    void drop_erased(std::size_t erased_now);
    void raise_absence(version to, version since);
    /// Returns the "absent" answer for keys that have no record in the state `at`.
    [[nodiscard]] const backend::record& absent_in(version at) const;
    void shrink();
    [[nodiscard]] static std::size_t shard_of(std::string_view k) noexcept { return key_hash{}(k) % shard_count; }
    [[nodiscard]] record_table& shard(std::string_view k) noexcept { return shards_[shard_of(k)]; }
    /// Returns the record, or null if there is no record of that key.
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

    /// The version with which keys without a record are absent, from the state `since` on (RSM3).
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
    std::size_t erased_now_ = 0;                                       // records that the current entry has erased
    std::vector<record_table> shards_ = std::vector<record_table>(shard_count);
    std::unique_ptr<image> image_;
    std::uint32_t images_ = 0;  // how many images were begun
    prepared_transactions prepared_;
    std::deque<replaced_write> order_;  // by ascending version
    version latest_ = 1;                // the version of the empty state; 0 is not a snapshot
    version floor_ = 1;
    state_statistics statistics_;
};

}  // namespace tutti::cluster::replica
