// A member's part in its group, without sockets and disks. A node writes programs' requests into the log, applies the
// log's entries, and answers the requests. It works over any raft_io: libuv's in a process (`tutti member`), or a
// simulated one in tests.
//
//   RFT1  A commit is answered with the state machine's result, after its entry was applied here. So a majority has
//         stored the entry.
//   RFT2  A read is answered from the applied state after a *barrier*. A barrier is an entry that was added to the log
//         after the read arrived, and that a majority has stored. So the state has all commits that were acknowledged
//         before the read arrived. A leader that was deposed without noticing cannot commit a barrier, and so answers
//         no reads.
//   RFT3  If raft has accepted a commit and then reports it as lost, the answer is `unknown`, because the commit may
//         still happen. If raft did not accept a commit, the answer is `unreachable`, because the commit will not
//         happen.
//   RFT4  Requests that arrive between two calls of `flush` are sent together: the commits share one entry, and the
//         reads share one barrier.
//   RFT5  A member that has lost acknowledged entries neither votes nor asks for votes until a leader has sent all of
//         these entries again. Until then, every leader is elected by a majority without this member. For each entry
//         that was committed with this member's help, that majority contains another member that has the entry.
//   RFT6  The state machine is saved, and entries are dropped, when the log has grown by `snapshot_bytes` and by as
//         many bytes as were saved last. The loop continues to work during a save (image_writer.hpp).
//
// Not thread-safe: every call, and every callback, runs on the thread of the raft_io's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/state_machine.hpp"

struct raft_io;

namespace tutti::cluster::replica {

class image_store;

struct member {
    std::uint64_t id = 0;  ///< not 0
    std::string address;
};

struct raft_settings {
    member self;
    unsigned election_ms = 1000;
    unsigned heartbeat_ms = 100;
    unsigned snapshot_threshold = 0;  ///< RFT6: limit of the log's entries, of any size; 0: as `snapshot_bytes` allows
    unsigned snapshot_trailing = 1024;  ///< entries that stay after a snapshot, for members that are slightly behind
    unsigned install_ms = 10000;  ///< milliseconds after which a leader resends a snapshot that a member has not stored
    std::size_t max_entry_bytes = 1u << 20;  ///< commits beyond this go into the next entry; a single one may be
                                             ///< larger
    std::size_t snapshot_bytes =
        64u << 20;  ///< RFT6: size of the log at which the state machine is saved and entries are
                    ///< dropped
    image_store* image_storage = nullptr;  ///< where the image is stored; outlives the node; null: in memory
    std::size_t piece_shards = 1024, piece_bytes = 256u << 10;  ///< limits of one piece of the image
    std::size_t message_bytes = 1u << 20;  ///< limit of the entries in one message, except for a single larger one
    history_window history;
    std::size_t max_erased = state_machine::default_max_erased;  ///< RSM3: the same for all members
    std::uint64_t lost_upto = 0;                                 ///< RFT5: this member's last lost entry, or 0
};

/// The result of one request.
struct reply {
    backend::engine_status status = backend::engine_status::unreachable;
    version at = 0;              ///< the version of a commit
    std::string why;             ///< the reason, if refused or unreachable
    bool is_not_leader = false;  ///< unreachable, because this member does not lead; nothing was done
    backend::blocking_transaction
        blocked_by{};  ///< conflict of a commit or prepare: the transaction that blocks it, or none
};
using reply_to_commit = std::function<void(reply)>;
using reply_to_get = std::function<void(reply, backend::read_snapshot, std::vector<backend::record>)>;

class raft_node {
public:
    /// Makes a node. `io` must outlive the node. Throws backend::engine_error.
    raft_node(raft_io& io, raft_settings how);
    /// REQUIRES: closed.
    ~raft_node();
    raft_node(const raft_node&) = delete;
    raft_node& operator=(const raft_node&) = delete;

    /// Founds a group. Call it before the first start, on each of the group's first members, with the same list. Throws
    /// backend::engine_error.
    void bootstrap(std::span<const member> all);
    /// Makes this member the only one, because its group has lost its majority. Call this before a start. The member's
    /// stored entries stay. Whether other entries were acknowledged cannot be known. Throws backend::engine_error.
    void recover_alone(const member& self);
    /// Loads the state on the disk. Throws backend::engine_error.
    void start();
    /// Closes the node. All pending requests are answered before `done` is called; sent commits are answered with
    /// unknown. Call it once.
    void close(std::function<void()> done);

    void commit(std::vector<backend::check> checks, std::vector<backend::write> writes, reply_to_commit answer);
    /// Prepares this group's part of a transaction of several groups (RSM5). A transaction may be prepared only once.
    void prepare(backend::blocking_transaction who, std::vector<backend::check> checks,
                 std::vector<backend::write> writes, reply_to_commit answer);
    /// Carries out the decision about a prepared transaction (RSM6). The answer is good even if the transaction is not
    /// prepared here.
    void finish(std::string id, bool commits, reply_to_commit answer);
    /// Imports records of another group, and raises the absence to at least `absence` (RSM7).
    void import_records(std::vector<backend::check> checks, std::vector<backend::change> records, version absence,
                        reply_to_commit answer);
    void forget(std::vector<key> keys);
    void get(backend::read_snapshot of, backend::freshness how, std::vector<backend::check> held,
             std::vector<key> wanted, reply_to_get answer);
    /// Sends the collected requests (RFT4). Call it when the loop has nothing else to do.
    void flush();

    [[nodiscard]] bool is_leader() const noexcept;
    /// Returns the member that this member believes to be the leader. The id is 0 if it knows no leader.
    [[nodiscard]] member leader() const;
    /// Returns the state applied here, which may be outdated (RFT2). For programs that follow changes, and for
    /// operators.
    [[nodiscard]] const state_machine& state() const noexcept { return state_machine_; }
    /// Sets a function that is called once, when this member has received all its lost entries again (RFT5).
    void on_recovered(std::function<void()> callback);
    /// Sets a function that is called after entries have changed the state, or a snapshot has replaced it.
    void on_change(std::function<void()> callback) { on_change_ = std::move(callback); }
    /// Returns the reason why this member has stopped working in its group, or an empty text if it still works. The
    /// reason is an entry or a snapshot that the member cannot read, or a failing disk. The member must then be closed.
    /// The data on its disk stays valid.
    [[nodiscard]] std::string failure() const;

    /// The node's position in the log.
    struct log_status {
        std::uint64_t term = 0, last_index = 0, applied_index = 0;
        std::string_view role_name;  ///< leader, follower, candidate, unavailable
    };
    [[nodiscard]] log_status status() const noexcept;
    /// Transfers the leadership to another voter. Calls `done` when that voter leads, or at the latest after an
    /// election timeout. Returns false if there is no such voter, or this member does not lead.
    [[nodiscard]] bool transfer_leadership(std::function<void()> done);

    // Change the membership. Only the leader can do so, and only one change at a time. `done` gets an empty text, or
    // the reason for a failure.

    using change_callback = std::function<void(std::string why)>;
    /// Admits a new member, which gets the log, and then a vote. REQUIRES: the new member runs, and was not
    /// bootstrapped.
    void admit(member who, change_callback done);
    void remove(std::uint64_t id, change_callback done);
    struct role {
        member who;
        bool votes = false;
    };
    [[nodiscard]] std::vector<role> members() const;

private:
    struct impl;  // the parts that use raft's types
    state_machine state_machine_;
    std::function<void()> on_change_;
    std::string unreadable_reason_;
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti::cluster::replica
