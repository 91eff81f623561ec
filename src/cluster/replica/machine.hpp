// What each member of a group holds: the records, and what entries of the log make of them. Deterministic: members
// that have applied the same entries are equal, byte for byte of `save`.
//
//   R1  the version of a record is the number of the commit that wrote it last. Commits that wrote something are
//       counted from 2 on, the empty state being 1, and with them what is prepared (R5), so versions ascend in the
//       order of the log, also within one entry, and never come again: a save carries the count (B1, B6)
//   R2  a commit is judged against the state that everything before it has left, within its entry, too; it writes all
//       of it, or nothing (B3)
//   R3  an erased record stays as its version, without bytes, until `forget`: else a program that has read "absent"
//       before the record was made would not notice that it has been there (B1)
//   R4  the states of a *window* of versions can still be read (B2): from `floor` to `latest`. What a commit replaces
//       is kept until the window has grown over its bounds. The window is no part of what members agree on, and not
//       saved: a member that has loaded begins with an empty one
//   R5  a *prepared* transaction is one of several groups that this group has judged, and whose decision is in another:
//       what it has read was current, and stays so, and what it writes is written when it is finished, if it commits.
//       Until then it holds both (prepared.hpp). A commit that is in its way is refused and told its id, and so
//       is a get of what it writes, in the state that it was prepared in and in later ones: by its decision, which this
//       group does not know, these may be over. That state has a version of its own, so a member that has a state of
//       that version knows what was prepared in it
//   R6  finish does something once: what is not prepared here is not finished, nor prepared again, because no
//       program sends a prepare twice. A finished one is a commit of that moment (R1)
//   R7  *adopt* has records be here as they were in another group, with their versions: those that come from one group
//       to another keep them, and the count is raised above them, so what is written here later has another version
//       than it ever had there (B1). A record that is newer already stays, so an adopt that comes late does no harm.
//       Of version 0 a record is as if it had never been here, but in states before. In which state a record came is
//       another number than its version, then, and the states of the window go by that one (R4)
//
//   R8  An *image* is the state of one instant, written down in pieces while later entries change the machine. The
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
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/entry.hpp"
#include "cluster/replica/prepared.hpp"

namespace tutti::cluster::replica {

/// How much of what was replaced is kept.
struct window {
    std::size_t writes = 100000;
    std::size_t bytes = 64u << 20;  ///< keys and values
};

/// What became of one operation of an entry; a forget is always good, and so is a finish.
struct outcome {
    backend::verdict said = backend::verdict::refused;  ///< good, conflict, or refused
    version at = 0;                                     ///< of what it wrote; of one that wrote nothing, the latest
    std::string why;                                    ///< it was refused
    backend::holder met{};  ///< of a conflict: the transaction that was in its way (R5), or none
};

struct applied {
    bool readable = true;  ///< false: no operation was applied
    std::string why;       ///< it is not
    std::vector<outcome> outcomes;
};

/// Counts, for the operator.
struct holdings {
    std::size_t objects = 0;
    std::size_t erased = 0;                       ///< records that are only a version
    std::size_t bytes = 0;                        ///< keys and values of both
    std::size_t kept_writes = 0, kept_bytes = 0;  ///< the window
    std::size_t prepared = 0;                     ///< transactions that wait to be finished (R5)
};

class machine {
public:
    explicit machine(window most = {}) : most_{most} {}

    /// The next entry of the log. O(operations), and what the window drops. Bytes that are no entry change nothing: a
    /// member that meets them has a log that is not what the leader wrote, and should stop.
    applied apply(std::string_view entry);

    /// B2 for the state of `of.at`, if the caller takes that and it is not 0, or else for the latest, which `of` is
    /// set to. good, or conflict: something held has another version in that state, or the window does not reach it,
    /// or a transaction holds a record of it, which is named in `of.met` if it is not finished (R5).
    [[nodiscard]] backend::verdict get(backend::snapshot& of, backend::freshness how,
                                       std::span<const backend::check> held, std::span<const key> wanted,
                                       std::vector<backend::record>& found) const;

    /// A piece of what is held now, of those keys: from the place on that the caller was told, or from the begin if
    /// that is another machine's. Whole shards, until `most` records were looked at or there are `most_bytes`.
    struct listed {
        std::uint64_t buckets = 0, next = 0;  ///< next = buckets: all of it has been listed
    };
    void list(listed& from, std::size_t most, std::size_t most_bytes,
              const std::function<bool(std::string_view)>& wanted, std::vector<backend::change>& all) const;

    /// Appends what commits after the version `place` wrote, in their order and of whole commits, until there are
    /// `most` changes or no more, and moves `place` to the last of them. False: the window does not reach so far back,
    /// or `place` is of no state that there was; something would be missed.
    [[nodiscard]] bool changes_after(version& place, std::size_t most, std::vector<backend::change>& all) const;

    /// Those that wait to be finished (R5), so many at most.
    [[nodiscard]] std::vector<backend::holder> prepared(std::size_t most) const { return prepared_.names(most); }

    [[nodiscard]] version latest() const noexcept { return latest_; }
    /// The oldest version whose state can be read.
    [[nodiscard]] version floor() const noexcept { return floor_; }
    [[nodiscard]] holdings holds() const noexcept;

    /// All that members agree on, in one order whatever the history. O(n log n).
    [[nodiscard]] std::string save() const;

    /// R8: begins an image of the state that is now, in the place of an earlier one. O(prepared transactions).
    void begin_image();
    [[nodiscard]] bool has_image() const noexcept { return image_ != nullptr; }
    /// Appends the next piece: so many shards at most, and no further one when it has `most_bytes`. True: it was the
    /// last piece, and the image is over. What all pieces make together is as `save`, but for the order of the records
    /// and the checksum, which `seal` adds. REQUIRES: has_image.
    [[nodiscard]] bool next_piece(std::size_t most_shards, std::size_t most_bytes, std::string& piece);
    void drop_image() noexcept { image_.reset(); }

    /// True for bytes that `save` has made, and that nothing has changed since.
    [[nodiscard]] static bool is_whole(std::string_view saved) noexcept;
    /// Replaces everything. Throws backend::refusal, and changes nothing, for bytes that `save` has not made.
    void load(std::string_view saved);

private:
    /// What a record was before.
    struct past {
        backend::record is;
        version since = 0;
        version sealed =
            no_version;  // R5: from that state on, the prepared write that replaced it may have been decided
    };
    /// A record, and what it was before, the oldest first.
    struct cell {
        backend::record now;
        version since = 0;  ///< the state that it came with: its version, or of one that was adopted, a later one
        std::unique_ptr<std::deque<past>> before;  // null: nothing
        std::uint32_t image = 0;  // R8: the latest image that has it as it was, or knows that it was not
    };
    static constexpr version no_version = ~version{0};
    struct replaced {
        version by = 0;
        key of;
        std::size_t bytes = 0;
    };
    using cells = std::unordered_map<key, cell, key_hash, std::equal_to<>>;
    static constexpr std::size_t shard_count = 1024;
    /// R8.
    struct image {
        std::uint32_t number = 0;
        std::size_t next = 0;                                // of the shards
        std::string front, back;                             // around the records
        std::vector<std::pair<key, backend::record>> saved;  // before they changed, and not written yet
    };

    [[nodiscard]] outcome commit(const operation& o);
    [[nodiscard]] outcome prepare(const operation& o);
    [[nodiscard]] outcome finish(const operation& o);
    [[nodiscard]] outcome adopt(const operation& o);
    void forget(const operation& o);
    [[nodiscard]] bool is(const check_view& c) const;
    [[nodiscard]] bool passes(const operation& o) const;
    void put(const write_view& w, version at, version sealed = no_version);
    void put(std::string_view of, backend::record is, version since, version sealed);
    void count(std::string_view k, const backend::record& r, bool more) noexcept;
    void shrink();
    [[nodiscard]] static std::size_t shard_of(std::string_view k) noexcept { return key_hash{}(k) % shard_count; }
    [[nodiscard]] cells& shard(std::string_view k) noexcept { return shards_[shard_of(k)]; }
    /// Null: there is none.
    [[nodiscard]] const cell* find(std::string_view k) const;
    /// R8: before `c` changes, or goes.
    void save_for_image(const key& k, cell& c);
    struct shown {
        const backend::record& is;
        const transaction* by = nullptr;  // which holds it, and is not finished
        bool sealed = false;              // that one, or one that is finished, held it in that state
    };
    /// As it was in the state `at`. REQUIRES: not below the floor.
    [[nodiscard]] shown as_of(std::string_view k, version at) const;

    window most_;
    std::vector<cells> shards_ = std::vector<cells>(shard_count);
    std::unique_ptr<image> image_;
    std::uint32_t images_ = 0;  // that were begun
    prepared_ones prepared_;
    std::deque<replaced> order_;  // by ascending version
    version latest_ = 1;          // of the empty state: 0 is no snapshot
    version floor_ = 1;
    holdings holds_;
};

}  // namespace tutti::cluster::replica
