// What each member of a group holds: the records, and what entries of the log make of them. Deterministic: members
// that have applied the same entries are equal, byte for byte of `save`.
//
//   RSM1  the version of a record is the number of the commit that wrote it last. Commits that wrote something are
//       counted from 2 on, the empty state being 1, and with them what is prepared (RSM5), so versions ascend in the
//       order of the log, also within one entry, and never come again: a save carries the count (ENG1, ENG6)
//   RSM2  a commit is judged against the state that everything before it has left, within its entry, too; it writes all
//       of it, or nothing (ENG3)
//   RSM3  an erased record stays as its version, without bytes, until `forget`, or until more than `max_erased` records
//       are erased. An entry that leaves more drops the ones with the lowest versions, down to half of `max_erased`.
//       `absence` is the highest version among the dropped ones, 0 at first. A key without a record answers as absent
//       with that version. So a program that read "absent" before the record was made notices that the record has been
//       there (ENG1): the record is in the table, or `absence` has grown beyond the version that the program read. A save
//       carries `absence`, and so does an adopt (RSM7). What is dropped depends on the table and on the entry alone, so
//       members stay equal. A drop has a version of its own, so states of the window show what was known in them (RSM4).
//       A check of version `unwritten` asks whether there is no record
//   RSM4  the states of a *window* of versions can still be read (ENG2): from `floor` to `latest`. What a commit replaces
//       is kept until the window has grown over its bounds. The window is no part of what members agree on, and not
//       saved: a member that has loaded begins with an empty one
//   RSM5  a *prepared* transaction is one of several groups that this group has judged, and whose decision is in another:
//       what it has read was current, and stays so, and what it writes is written when it is finished, if it commits.
//       Until then it holds both (prepared_transactions.hpp). A commit that is in its way is refused and told its id, and so
//       is a get of what it writes, in the state that it was prepared in and in later ones: by its decision, which this
//       group does not know, these may be over. That state has a version of its own, so a member that has a state of
//       that version knows what was prepared in it
//   RSM6  finish does something once: what is not prepared here is not finished, nor prepared again, because no
//       program sends a prepare twice. A finished one is a commit of that moment (RSM1)
//   RSM7  *adopt* has records be here as they were in another group, with their versions: those that come from one group
//       to another keep them, and the count is raised above them, so what is written here later has another version
//       than it ever had there (ENG1). A record that is newer already stays, so an adopt that comes late does no harm.
//       Of version 0 a record is as if it had never been here, but in states before. In which state a record came is
//       another number than its version, then, and the states of the window go by that one (RSM4). An adopt also carries
//       the `absence` of the group that the records come from, which raises this one's and the count. So what that
//       group has dropped is not absent here with a version that a program may have read before (RSM3)
//
//   RSM8  An *image* is the state of one instant, written down in pieces while later entries change the machine. The
//       table is divided into shards, and a piece holds some whole ones. A record of a shard that is not written yet is
//       copied into the image before its first change. So the image takes memory for what changes meanwhile, and no
//       call takes longer than a piece
//
// Thread safety: none; const members may run at once with each other.
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

/// How much of what was replaced is kept.
struct history_window {
    std::size_t writes = 100000;
    std::size_t bytes = 64u << 20;  ///< keys and values
};

/// What became of one operation of an entry; a forget is always good, and so is a finish.
struct operation_result {
    backend::engine_status status = backend::engine_status::refused;  ///< good, conflict, or refused
    version at = 0;                              ///< of what it wrote; of one that wrote nothing, the latest
    std::string why;                             ///< it was refused
    backend::blocking_transaction blocked_by{};  ///< of a conflict: the transaction that was in its way (RSM5), or none
};

struct applied_entry {
    bool is_readable = true;  ///< false: no operation was applied
    std::string why;          ///< it is not
    std::vector<operation_result> results;
};

/// Counts, for the operator.
struct state_statistics {
    std::size_t objects = 0;
    std::size_t erased = 0;                       ///< records that are only a version
    std::size_t bytes = 0;                        ///< keys and values of both
    std::size_t kept_writes = 0, kept_bytes = 0;  ///< the window
    std::size_t prepared = 0;                     ///< transactions that wait to be finished (RSM5)
};

class state_machine {
public:
    static constexpr std::size_t default_max_erased = 16384;
    /// REQUIRES: all members of a group have the same `max_erased` (RSM3), 1 at least.
    explicit state_machine(history_window history_limit = {}, std::size_t max_erased = default_max_erased)
        : history_limit_{history_limit}, max_erased_{max_erased} {}

    /// The next entry of the log. O(operations), and what RSM3 and the window drop. Bytes that are no entry change
    /// nothing: a member that meets them has a log that is not what the leader wrote, and should stop.
    applied_entry apply(std::string_view entry);

    /// ENG2 for the state of `of.at`, if the caller takes that and it is not 0, or else for the latest, which `of` is
    /// set to. good, or conflict: something held has another version in that state, or the window does not reach it,
    /// or a transaction holds a record of it, which is named in `of.blocked_by` if it is not finished (RSM5).
    [[nodiscard]] backend::engine_status get(backend::read_snapshot& of, backend::freshness how,
                                             std::span<const backend::check> held, std::span<const key> wanted,
                                             std::vector<backend::record>& found) const;

    /// A piece of what is held now, of those keys: from the place on that the caller was told, or from the begin if
    /// that is another machine's. Whole shards, until `most` records were looked at or there are `max_bytes`.
    struct list_position {
        std::uint64_t buckets = 0, next = 0;  ///< next = buckets: all of it has been listed
    };
    void list(list_position& from, std::size_t max_records, std::size_t max_bytes,
              const std::function<bool(std::string_view)>& wanted, std::vector<backend::change>& all) const;

    /// Appends what commits after the version `place` wrote, in their order and of whole commits, until there are
    /// `most` changes or no more, and moves `place` to the last of them. False: the window does not reach so far back,
    /// or `place` is of no state that there was; something would be missed.
    [[nodiscard]] bool changes_after(version& place, std::size_t max_changes, std::vector<backend::change>& all) const;

    /// Those that wait to be finished (RSM5), so many at most.
    [[nodiscard]] std::vector<backend::blocking_transaction> prepared(std::size_t max_transactions) const {
        return prepared_.list(max_transactions);
    }

    [[nodiscard]] version latest() const noexcept { return latest_; }
    /// RSM3, of the latest state.
    [[nodiscard]] version absence() const noexcept { return absences_.back().is.at; }
    /// The oldest version whose state can be read.
    [[nodiscard]] version floor() const noexcept { return floor_; }
    [[nodiscard]] state_statistics statistics() const noexcept;

    /// All that members agree on, in one order whatever the history. O(n log n).
    [[nodiscard]] std::string save() const;

    /// RSM8: begins an image of the state that is now, in the place of an earlier one. O(prepared transactions).
    void begin_image();
    [[nodiscard]] bool has_image() const noexcept { return image_ != nullptr; }
    /// Appends the next piece: so many shards at most, and no further one when it has `max_bytes`. True: it was the
    /// last piece, and the image is over. What all pieces make together is as `save`, but for the order of the records
    /// and the checksum, which `seal` adds. REQUIRES: has_image.
    [[nodiscard]] bool next_piece(std::size_t max_shards, std::size_t max_bytes, std::string& piece);
    void drop_image() noexcept { image_.reset(); }

    /// True for bytes that `save` has made, and that nothing has changed since.
    [[nodiscard]] static bool is_complete(std::string_view saved) noexcept;
    /// Replaces everything. Throws backend::refusal, and changes nothing, for bytes that `save` has not made.
    void load(std::string_view saved);

private:
    /// What a record was before.
    struct previous_record {
        backend::record is;
        version since = 0;
        version held_from =
            no_version;  // RSM5: from that state on, the prepared write that replaced it may have been decided
    };
    /// A record, and what it was before, the oldest first.
    struct versioned_record {
        backend::record now;
        version since = 0;  ///< the state that it came with: its version, or of one that was adopted, a later one
        std::unique_ptr<std::deque<previous_record>> before;  // null: nothing
        std::uint32_t image = 0;  // RSM8: the latest image that has it as it was, or knows that it was not
    };
    static constexpr version no_version = ~version{0};
    struct replaced_write {
        version by = 0;
        key of;
        std::size_t bytes = 0;
    };
    using record_table = std::unordered_map<key, versioned_record, key_hash, std::equal_to<>>;
    static constexpr std::size_t shard_count = 1024;
    /// RSM8.
    struct image {
        std::uint32_t number = 0;
        std::size_t next = 0;                                // of the shards
        std::string front, back;                             // around the records
        std::vector<std::pair<key, backend::record>> saved;  // before they changed, and not written yet
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
    /// RSM3: after an entry that has erased so many.
    void drop_erased(std::size_t erased_now);
    void raise_absence(version to, version since);
    /// What a key without a record is in the state `at`.
    [[nodiscard]] const backend::record& absent_in(version at) const;
    void shrink();
    [[nodiscard]] static std::size_t shard_of(std::string_view k) noexcept { return key_hash{}(k) % shard_count; }
    [[nodiscard]] record_table& shard(std::string_view k) noexcept { return shards_[shard_of(k)]; }
    /// Null: there is none.
    [[nodiscard]] const versioned_record* find(std::string_view k) const;
    /// RSM8: before `c` changes, or goes.
    void save_for_image(const key& k, versioned_record& c);
    struct visible_state {
        const backend::record& is;
        const prepared_transaction* by = nullptr;  // which holds it, and is not finished
        bool is_held = false;                      // that one, or one that is finished, held it in that state
    };
    /// As it was in the state `at`. REQUIRES: not below the floor.
    [[nodiscard]] visible_state as_of(std::string_view k, version at) const;

    /// From that state on, a key without a record has that version (RSM3).
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
    std::set<std::pair<version, const key*>, by_version> erased_;      // the keys are in the table
    std::deque<absent_since> absences_ = std::deque<absent_since>(1);  // one at least, by ascending states
    std::size_t erased_now_ = 0;                                       // by the entry that is applied
    std::vector<record_table> shards_ = std::vector<record_table>(shard_count);
    std::unique_ptr<image> image_;
    std::uint32_t images_ = 0;  // that were begun
    prepared_transactions prepared_;
    std::deque<replaced_write> order_;  // by ascending version
    version latest_ = 1;                // of the empty state: 0 is no snapshot
    version floor_ = 1;
    state_statistics statistics_;
};

}  // namespace tutti::cluster::replica
