// A group as one of several that keep the objects of a cluster together: an engine that can also be asked to prepare
// its part of a transaction (docs/cluster-replication.md, "Several groups").
#pragma once

#include <functional>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/slots.hpp"

namespace tutti::cluster::backend {

/// How far a group has been asked for all that it holds of some slots. Empty at first; the group fills it in.
struct listing {
    version begun = 0;  ///< what is listed was written before that, or is as it is later
    bool over = false;
    std::vector<holder> prepared;                     ///< transactions that it has prepared now
    std::uint64_t member = 0, buckets = 0, next = 0;  ///< of the one that answers, as it counts
};

class group_engine : public engine {
public:
    /// Drawn when the group began; no other has it.
    [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;

    /// The addresses of its members, as the group has said last; empty: it has not said. Programs, and tests, may know
    /// a group without addresses.
    [[nodiscard]] virtual std::vector<std::string> members() const { return {}; }
    /// Has `told` called on another thread, soon and whenever they have changed. When this returns, the function of the
    /// call before does not run any more.
    virtual void on_new_members(std::function<void()>) {}

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

    // For moving slots. What a program is told here is of a state that was current between call and return.

    /// The next piece of what it holds of them: appended, good; or unreachable.
    [[nodiscard]] virtual verdict list(listing& from, const slot_set& slots, std::vector<change>& found) = 0;
    /// Appends what commits after the version `after` wrote to them, in their order, or a part of it; `after` moves on,
    /// and `all` says whether that was all. conflict: it does not know what they wrote so far back.
    [[nodiscard]] virtual verdict changed(version& after, bool& all, const slot_set& slots,
                                          std::vector<change>& found) = 0;
    /// The records of another group are here now, with their versions, if all of `r.checks` are current and none is
    /// newer here; of version 0, they are here no more. As a commit; `r.writes` are none.
    virtual void adopt(request& r, std::span<const change> records) = 0;
};

}  // namespace tutti::cluster::backend
