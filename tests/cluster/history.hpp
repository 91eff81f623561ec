// What every attempt of a run read and wrote, and whether that can be explained by one order of all of them.
//
// The order is looked for as Adya does ("Weak Consistency", 1999): a graph of who must be before whom, which has no
// cycle if and only if there is one. Attempts that were rolled back are in it as readers: that makes it a check of
// opacity. Of the real-time order between clients the graph has what attempts say of when they were; of those that say
// nothing, the order of one client's attempts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster::testing {

using writer_tag = std::uint64_t;  ///< number of the attempt that wrote a value; 0: it was never written

struct seen {
    object_id id;
    bool exists = false;
    std::uint64_t version = 0;
    writer_tag tag = 0;  ///< if it exists
};

struct attempt {
    unsigned client = 0;
    bool committed = false;
    bool maybe = false;  ///< it has, if anybody has read what it wrote: its client does not know
    std::uint64_t version = 0;
    std::vector<seen> reads;
    std::vector<object_id> writes;
    std::vector<object_id> erased;
    std::uint64_t begun = 0, ended = 0;  ///< it was between these; 0: not known
};

class history {
public:
    /// Its number is what the attempt writes.
    writer_tag begin(unsigned client) {
        attempts_.push_back({.client = client, .reads = {}, .writes = {}, .erased = {}});
        return attempts_.size();
    }
    /// The attempt goes on from where it had made that many reads: what it has read since, one that is over has.
    writer_tag go_on(writer_tag tag, std::size_t reads) {
        attempt rest = of(tag);
        rest.reads.resize(reads);
        attempts_.push_back(std::move(rest));
        return attempts_.size();
    }
    attempt& of(writer_tag tag) { return attempts_[tag - 1]; }
    [[nodiscard]] const std::vector<attempt>& attempts() const noexcept { return attempts_; }

    /// From that version on, nothing is left of what a node owned: as if one writer had erased it all.
    void node_returns(std::uint64_t version) {
        const writer_tag tag = begin(~0u - static_cast<unsigned>(returns_.size()));
        of(tag).committed = true;
        of(tag).version = version;
        returns_[version] = tag;
    }

    /// Of attempts that may have committed, those have whose writes anybody has read. REQUIRES: all is over.
    void settle_doubts();
    /// What is wrong, or nothing.
    [[nodiscard]] std::string judge() const;

private:
    std::vector<attempt> attempts_;
    std::map<std::uint64_t, writer_tag> returns_;
};

}  // namespace tutti::cluster::testing
