// One of the groups that together keep the objects of a cluster. A group is an engine that can also prepare its part of
// a transaction (docs/cluster-replication.md, "Several groups").
#pragma once

#include <functional>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/slots.hpp"

namespace tutti::cluster::backend {

/// How many of the records of some slots a group has listed. The listing is empty at first, and the group fills it in.
struct list_cursor {
    version as_of = 0;  ///< every listed record is as of this version or of a later one
    bool is_finished = false;
    version absence = 0;                              ///< the `absence` for import_records, as of the last piece
    std::vector<blocking_transaction> prepared;       ///< the transactions that the group has prepared now
    std::uint64_t member = 0, buckets = 0, next = 0;  ///< positions that only the answering member can interpret
};

class group_engine : public engine {
public:
    /// Returns the group's number, which was drawn when the group began, and is unique.
    [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;

    /// Returns the addresses of the group's members as the group has reported them last. Returns nothing if the group
    /// has not reported any. Programs and tests may use a group without addresses.
    [[nodiscard]] virtual std::vector<std::string> members() const { return {}; }
    /// Registers a function. Another thread calls it soon, and whenever the members have changed. When this call
    /// returns, the function that was registered before is not running, and is never called again.
    virtual void on_members_changed(std::function<void()>) {}

    // The next two functions send a request without waiting, so several groups work at the same time. Call the returned
    // function once, on the same thread, to wait for the answer. The answer is lost if the returned function is
    // destroyed without a call. The arguments must outlive the returned function.

    /// Prepares a transaction: checks the versions as a commit does. Until `finish`, the group holds back the writes,
    /// and keeps other transactions from overwriting the checked records. If the result is unknown, the group may still
    /// prepare the transaction later. REQUIRES: this group has never been asked to prepare that id.
    [[nodiscard]] virtual std::function<void()> begin_prepare(const blocking_transaction& transaction, request& r,
                                                              std::chrono::milliseconds timeout) = 0;
    /// Ends a prepared transaction: writes this group's part if `commits` is true, and releases everything. Does
    /// nothing if the transaction is not prepared. Returns false if the group does not answer; the group may still
    /// finish the transaction later.
    [[nodiscard]] virtual std::function<bool()> begin_finish(const std::string& id, bool commits,
                                                             std::chrono::milliseconds timeout) = 0;
    [[nodiscard]] bool finish(const std::string& id, bool commits, std::chrono::milliseconds timeout) {
        return begin_finish(id, commits, timeout)();
    }

    // The following functions move slots. Each answer is about a state that was current between call and return.

    /// Appends the next piece of the slots' records. Returns good or unreachable.
    [[nodiscard]] virtual engine_status list(list_cursor& from, const slot_set& slots, std::vector<change>& found) = 0;
    /// Appends the writes to the slots after version `from.as_of`, in their order. May append only the first of these
    /// writes. Moves `from.as_of` on, and sets `from.is_finished` if nothing is left. Returns conflict if the group no
    /// longer knows writes that old.
    [[nodiscard]] virtual engine_status list_changes(list_cursor& from, const slot_set& slots,
                                                     std::vector<change>& found) = 0;
    /// Imports records of another group with their versions, as a commit. The commit succeeds if all of `r.checks` are
    /// current, and no record is newer here. A record of version 0 is removed in this group. `absence` is the version
    /// of the other group's keys that have no record (ENG1). Afterwards, this group's version of keys without a record
    /// is at least `absence`. `r.writes` must be empty.
    virtual void import_records(request& r, std::span<const change> records, version absence) = 0;
};

}  // namespace tutti::cluster::backend
