// Computes how many bytes of records follow a position, without reading all records. Stores the sums at positions some
// distance apart.
//
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tutti::server::journal {

class position_index {
public:
    /// bytes between index entries: the size of a chunk for a follower
    static constexpr std::uint64_t spacing = std::uint64_t{1} << 20;

    /// Adds the next group. REQUIRES: positions grow.
    void add(std::uint64_t first, std::uint64_t bytes) {
        if (all_.empty() || sum_ - all_.back().before >= spacing) all_.push_back({first, sum_});
        sum_ += bytes;
    }
    /// Removes the index entries before `first`. To be called when the groups before `first` are removed.
    void drop_before(std::uint64_t first) { all_.erase(all_.begin(), next(first)); }

    /// A range whose bytes the caller has to count, and the number of bytes after that range.
    struct indexed_end {
        /// the position at which counting ends; greater than any position if that is the end of the log
        std::uint64_t end;
        std::uint64_t behind;  ///< bytes of records after `end`
    };
    /// Returns the range that begins with the group at `first`. O(log n)
    [[nodiscard]] indexed_end from(std::uint64_t first) const {
        const auto m = next(first);
        return m == all_.end() ? indexed_end{INT64_MAX, 0} : indexed_end{m->first, sum_ - m->before};
    }

private:
    struct index_entry {
        std::uint64_t first;   ///< first position of a group
        std::uint64_t before;  ///< bytes of the groups before this one
    };
    [[nodiscard]] std::vector<index_entry>::const_iterator next(std::uint64_t first) const {
        return std::ranges::lower_bound(all_, first, {}, &index_entry::first);
    }

    std::vector<index_entry> all_;
    std::uint64_t sum_ = 0;
};

}  // namespace tutti::server::journal
