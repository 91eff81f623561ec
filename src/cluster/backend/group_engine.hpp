// A group as one of several that keep the objects of a cluster together: an engine that can also be asked to prepare
// its part of a transaction (docs/cluster-replication.md, "Several groups").
#pragma once

#include <functional>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class group_engine : public engine {
public:
    /// Drawn when the group began; no other has it.
    [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;

    // These two send a question, and do not wait: several groups work at once. The caller calls what they return once,
    // on the same thread, and it waits for the answer; a caller that drops it never learns the answer. The arguments
    // outlive it.

    /// As a commit, but what it writes is held back, and what it has read is held, until `finish`. What has stayed
    /// unknown may be prepared later. REQUIRES: this group has never been asked for that id.
    [[nodiscard]] virtual std::function<void()> begin_prepare(const holder& who, request& r,
                                                              std::chrono::milliseconds patience) = 0;
    /// It is written if it `commits`, and holds nothing any more: once, and not at all where it is not prepared. False:
    /// the group does not answer, and may do so later.
    [[nodiscard]] virtual std::function<bool()> begin_finish(const std::string& id, bool commits,
                                                             std::chrono::milliseconds patience) = 0;
    [[nodiscard]] bool finish(const std::string& id, bool commits, std::chrono::milliseconds patience) {
        return begin_finish(id, commits, patience)();
    }
};

}  // namespace tutti::cluster::backend
