// Records what every attempt of a run read and wrote, and checks that one order of all attempts explains the values.
//
// The check follows Adya ("Weak Consistency", 1999). It builds a graph whose edges say which attempt must precede
// which. The graph has no cycle if and only if such an order exists. Rolled-back attempts are in the graph as readers,
// so the check covers opacity. Attempts that record their begin and end add the real-time order between clients. The
// other attempts add only the order of each client's own attempts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster::testing {

using writer_tag = std::uint64_t;  ///< number of the attempt that wrote a value; 0: never written

struct seen {
    object_id id;
    bool exists = false;
    std::uint64_t version = 0;
    writer_tag tag = 0;  ///< if the object exists
};

struct attempt {
    unsigned client = 0;
    bool committed = false;
    bool maybe = false;  ///< the client does not know the outcome; the attempt has committed if any read saw its writes
    std::uint64_t version = 0;
    std::vector<seen> reads;
    std::vector<object_id> writes;
    std::vector<object_id> erased;
    std::uint64_t begun = 0, ended = 0;  ///< the attempt ran between these times; 0: not known
};

class history {
public:
    /// Begins an attempt and returns its number, which is also the value that the attempt writes.
    writer_tag begin(unsigned client) {
        attempts_.push_back({.client = client, .reads = {}, .writes = {}, .erased = {}});
        return attempts_.size();
    }
    /// Begins an attempt that continues attempt `tag` after the first `reads` reads, and returns its number. Attempt
    /// `tag` stays in the history with all of its reads.
    writer_tag go_on(writer_tag tag, std::size_t reads) {
        attempt rest = of(tag);
        rest.reads.resize(reads);
        attempts_.push_back(std::move(rest));
        return attempts_.size();
    }
    attempt& of(writer_tag tag) { return attempts_[tag - 1]; }
    [[nodiscard]] const std::vector<attempt>& attempts() const noexcept { return attempts_; }

    /// Records that at `version` all objects of a node end, as if one writer had erased them all.
    void node_returns(std::uint64_t version) {
        const writer_tag tag = begin(~0u - static_cast<unsigned>(returns_.size()));
        of(tag).committed = true;
        of(tag).version = version;
        returns_[version] = tag;
    }

    /// Resolves the attempts of unknown outcome. Such an attempt has committed if any read saw one of its writes.
    /// REQUIRES: the run is over.
    void settle_doubts();
    /// Returns a description of the first error, or an empty string.
    [[nodiscard]] std::string judge() const;

private:
    std::vector<attempt> attempts_;
    std::map<std::uint64_t, writer_tag> returns_;
};

}  // namespace tutti::cluster::testing
