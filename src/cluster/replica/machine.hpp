// What each member of a group holds: the records, and what entries of the log make of them. Deterministic: members
// that have applied the same entries are equal, byte for byte of `save`.
//
//   R1  the version of a record is the number of the commit that wrote it last. Commits that wrote something are
//       counted from 2 on, the empty state being 1, so versions ascend in the order of the log, also within one entry,
//       and never come again: a save carries the count (B1, B6)
//   R2  a commit is judged against the state that everything before it has left, within its entry, too; it writes all
//       of it, or nothing (B3)
//   R3  an erased record stays as its version, without bytes, until `forget`: else a program that has read "absent"
//       before the record was made would not notice that it has been there (B1)
//   R4  the states of a *window* of versions can still be read (B2): from `floor` to `latest`. What a commit replaces
//       is kept until the window has grown over its bounds. The window is no part of what members agree on, and not
//       saved: a member that has loaded begins with an empty one
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

namespace tutti::cluster::replica {

/// How much of what was replaced is kept.
struct window {
    std::size_t writes = 100000;
    std::size_t bytes = 64u << 20;  ///< keys and values
};

/// What became of one operation of an entry; a forget is always good.
struct outcome {
    backend::verdict said = backend::verdict::refused;  ///< good, conflict, or refused
    version at = 0;                                     ///< of what it wrote; of one that wrote nothing, the latest
    std::string why;                                    ///< it was refused
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
};

class machine {
public:
    explicit machine(window most = {}) : most_{most} {}

    /// The next entry of the log. O(operations), and what the window drops. Bytes that are no entry change nothing: a
    /// member that meets them has a log that is not what the leader wrote, and should stop.
    applied apply(std::string_view entry);

    /// B2 for the state of `of.at`, if the caller takes that and it is not 0, or else for the latest, which `of` is
    /// set to. good, or conflict: something held has another version in that state, or the window does not reach it.
    [[nodiscard]] backend::verdict get(backend::snapshot& of, backend::freshness how,
                                       std::span<const backend::check> held, std::span<const key> wanted,
                                       std::vector<backend::record>& found) const;

    /// Appends what commits after the version `place` wrote, in their order and of whole commits, until there are
    /// `most` changes or no more, and moves `place` to the last of them. False: the window does not reach so far back,
    /// or `place` is of no state that there was; something would be missed.
    [[nodiscard]] bool changes_after(version& place, std::size_t most, std::vector<backend::change>& all) const;

    [[nodiscard]] version latest() const noexcept { return latest_; }
    /// The oldest version whose state can be read.
    [[nodiscard]] version floor() const noexcept { return floor_; }
    [[nodiscard]] holdings holds() const noexcept;

    /// All that members agree on, in one order whatever the history. O(n log n).
    [[nodiscard]] std::string save() const;
    /// Replaces everything. Throws backend::refusal, and changes nothing, for bytes that `save` has not made.
    void load(std::string_view saved);

private:
    /// A record, and what it was before, the oldest first.
    struct cell {
        backend::record now;
        std::unique_ptr<std::deque<backend::record>> before;  // null: nothing
    };
    struct replaced {
        version by = 0;
        key of;
        std::size_t bytes = 0;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view k) const noexcept { return std::hash<std::string_view>{}(k); }
    };
    using cells = std::unordered_map<key, cell, hash, std::equal_to<>>;

    [[nodiscard]] outcome commit(const operation& o);
    void forget(const operation& o);
    [[nodiscard]] bool is(const check_view& c) const;
    [[nodiscard]] bool passes(const operation& o) const;
    void put(const write_view& w, version at);
    void count(std::string_view k, const backend::record& r, bool more) noexcept;
    void shrink();
    /// As it was in the state `at`. REQUIRES: not below the floor.
    [[nodiscard]] const backend::record& as_of(std::string_view k, version at) const;

    window most_;
    cells cells_;
    std::deque<replaced> order_;  // by ascending version
    version latest_ = 1;          // of the empty state: 0 is no snapshot
    version floor_ = 1;
    holdings holds_;
};

}  // namespace tutti::cluster::replica
