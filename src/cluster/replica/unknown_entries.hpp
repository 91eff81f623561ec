// Examines the intact entries after the damage in a log. Counts the entries that this member may have acknowledged
// beyond its durable record (durable_record.hpp). Not every intact entry counts, because the entry's file may have come
// from another member, or from another place of the log. Only the ring of digests shows this origin.
//
//   UNK1  The ring has a digest of every entry up to `last` that the log has had since its last snapshot. So an entry
//         that equals the ring's entry of any index is already counted by `last`, wherever the entry lies now.
//   UNK2  An entry without a digest in the ring is *unknown*. It may lie beyond `last`, because a crash of the machine
//         can remove its digest. An unknown entry is counted as one after all known entries.
//   UNK3  Two entries may be equal: barriers of one term, and a commit that its program sent again. So a barrier or a
//         configuration counts as known only next to a known entry. After the entry `last`, a commit counts as known
//         only if the next commit is known, too.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/replica/durable_record.hpp"
#include "cluster/replica/segment.hpp"

namespace tutti::cluster::replica {

class unknown_entries {
public:
    /// Compares entries with `record`, which must outlive this object. If `record` is null, each entry counts.
    explicit unknown_entries(const durable_contents* record) noexcept : record_{record} {}

    /// Adds the intact entries of one segment in their order. Their bytes must stay valid until the next `end_segment`.
    /// Compares a commit with the whole ring unless the commit follows a known entry. Makes at most 2^25 comparisons in
    /// all, and counts further commits without a comparison.
    void add(const logged_entry& e);
    void end_segment();
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    [[nodiscard]] bool is_at(const logged_entry& e, std::uint64_t index) const noexcept;
    [[nodiscard]] std::uint64_t find(const logged_entry& e);
    void count(const logged_entry& e);
    void set_position(std::uint64_t index);

    const durable_contents* record_;
    std::uint64_t count_ = 0;
    std::uint64_t at_ = 0;              // index of the previous entry; 0: it is not known
    std::uint64_t maybe_ = 0;           // possible index of the previous entry, if it is uncertain (UNK3)
    bool is_behind_ = false;            // the last known entry is `last`
    std::uint64_t run_ = 0;             // run of the previous entry
    std::uint64_t left_ = 1ULL << 25;   // comparisons that are left
    std::vector<logged_entry> before_;  // counted entries in a row, up to the next entry
};

}  // namespace tutti::cluster::replica
