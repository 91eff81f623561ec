// Makes the protocol a participant in a transaction of the engine. There is one enlistment for each context
// (descriptor) and node.
//
//   join                  joins the attempt as a companion, and begins at the node's clock. If the block is read-only,
//                         begins as a snapshot reader
//   the snapshot moves    extends the snapshot to the node's clock. Commits of variables on this node may depend on
//                         commits of the cluster that are newer than this transaction's objects
//   contention            follows the block's policy, or the rules for a block that has lost too often. They decide
//                         whether the block waits for other transactions, and whether it precedes them
//   a conflict            rolls back to the innermost block that had begun when the first stale object was opened
//   a checkpoint ends     checks every object once more, unless it has just done so
//   retry                 sleeps on a wake-up variable (wakeup_notifier.hpp), which the objects' owners change
//   irrevocable           acquires the token, and reserves all objects that the block has opened or opens later
//   vote                  prepares: locks here and elsewhere, and draws the version; then validates the local reads
//                         once more
//   commit                publishes and releases
//   roll-back             releases only abstract locks, because no object is held before the vote. The next call joins
//                         the next attempt
//
// A *fast-path* attempt has only opened fast-path objects (transaction.hpp), in the outermost block. Only the engine
// knows of a fast-path attempt. The begin of such an attempt only reads the clock. A fast-path attempt that has written
// ends with an in-place commit. Any other fast-path attempt ends without any work. Before an attempt does anything
// else, it leaves the fast path: it is announced to the protocol, the statistics and the timeline, and becomes an
// ordinary attempt.
//
//   FST1  A fast-path attempt is the first attempt of an outermost block. The previous block has left nothing behind:
//       no conflict, lock, wake-up variable, step, or running undo action. A fast-path attempt has read no variable and
//       deferred nothing, it can log its reads, and its block has the default contention policy (api::join_attempt). So
//       a fast-path attempt behaves as every attempt whose transaction has just begun (transaction_.is_clean).
//   FST2  A function leaves the fast path first if it does more than open fast-path objects, commit, or begin the next
//       attempt. So the code that follows never runs in a fast-path attempt.
//   FST3  descriptor_.companion_data_ points to fast_path_ from the attempt's begin to the end of fast_path_.
//       fast_path_ ends with the attempt, or when the attempt leaves the fast path. So the block opens objects without
//       a call (tutti/cluster/fast_path.hpp) only in a fast-path attempt, and requests a fast-path attempt at most
//       once.
//   FST4  An object that a fast-path attempt has opened has no version beyond fast_path_.time(), so TXN2 holds. The
//       clock had that time before the read, so TXN1 holds by SEQ3 (seqlock_object.hpp). Each object is open at most
//       once. A second read finds the object in the same seqlock object, whose bit is set, and then searches the open
//       objects. If the object has a new seqlock object by then, this seqlock object shows a version beyond the
//       time.
//
// docs/cluster-protocol.md, "With the engine", proves that local variables and objects have one order.
//
// Not thread-safe: an enlistment belongs to its context.
#pragma once

#include "cluster/participant/object_participant.hpp"
#include "cluster/participant/wakeup_notifier.hpp"
#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/protocol/transaction.hpp"
#include "cluster/rpc/rpc_endpoint.hpp"
#include "tutti/cluster/fast_path.hpp"

namespace tutti::cluster {

class peer_node;

class enlistment final : public object_participant, private local_reads {
public:
    enlistment(protocol_node& protocol, rpc_client& to, core::descriptor& of, peer_node& node);
    ~enlistment() override;

    detail::slot& open(const object_id& id, detail::location_hint& found) override;
    detail::fast_path_attempt* open_fast_path() noexcept override;
    void open(std::span<const object_id> ids) override;
    void prefetch(std::span<const object_id> ids) override;
    void acquire(std::span<const named_lock> locks) override;

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;
    bool on_snapshot_extended() override;
    bool on_retry() override;
    void recheck() override;
    bool freeze() override;
    bool commit_one_phase() noexcept override;
    /// Ends the attempt of the outermost block. The core does not call this function in a partial roll-back, because
    /// the snapshot then continues.
    void on_rollback() noexcept override;

private:
    /// Makes sure that the running attempt is joined. May exit by a restart or usage_error.
    void ensure_joined() {
        leave_fast_path_if_active();
        const bool irrevocable = descriptor_.must_commit();
        if (!is_joined()) join_first();
        if (irrevocable && !transaction_.is_irrevocable()) become_irrevocable();
    }
    /// Leaves the fast path (FST2). This is possible even while the attempt's undo actions run, because an undo action
    /// may run a block.
    void leave_fast_path_if_active() noexcept {
        if (fast_path_.is_running()) leave_fast_path();
    }
    void leave_fast_path() noexcept;
    /// Records, at the end of a committing attempt, whether the next one may use the fast path (FST1).
    void check_fast_path_next() noexcept;
    /// Commits a fast-path attempt that has written. Returns false, without any effect, if the commit is not possible
    /// in place.
    [[nodiscard]] bool commit_in_place() noexcept;
    /// Ends a fast-path attempt that has committed.
    void finish_fast_path() noexcept {
        descriptor_.companion_data_ = nullptr;
        fast_path_.end();
        counters_.count_fast_path_commit();
    }
    void join_first();
    void become_irrevocable();
    void begin_attempt();
    /// Sets how the attempt treats other transactions.
    void set_contention_behavior();
    void pause_after_conflict();
    /// Returns the enlistment that keeps the execution's age and count of conflicts. This is the enlistment of the
    /// outermost running block, if that enlistment has joined its attempt, and otherwise this enlistment.
    [[nodiscard]] enlistment& outermost_enlistment();
    void open_new(std::span<const object_id> ids);
    /// Opens the objects. An irrevocable block waits for as long as other transactions hold the objects.
    [[nodiscard]] protocol_status open_blocking(std::span<const object_id> ids);
    /// Begins the reservations of an irrevocable block that has opened nothing yet.
    void reserve_irrevocably();
    void refuse_second_cluster() const;
    [[nodiscard]] const transaction_name& root_execution() const;
    [[noreturn]] void fail_to_lock(protocol_status o);
    /// Records the open objects, so that the next attempt opens them in one round trip. A block that is rolled back
    /// usually opens the same objects again. With one round trip the block is shorter, so its objects become stale less
    /// often. A stale object was the cause of the conflict.
    void remember_for_reopening();
    bool validate(std::uint64_t& at) override;
    void drop_objects(std::size_t kept) noexcept override;
    /// Rolls back to a running nested block if possible, and does not return in that case. Returns if the attempt has
    /// to start over.
    void try_partial_rollback();
    /// Validates every open object, and extends the snapshot to the clock's present value.
    [[nodiscard]] protocol_status refresh_reads();
    [[noreturn]] void restart();
    [[noreturn]] void fail(protocol_status o);
    [[nodiscard]] bool is_reader() const noexcept;
    void record_conflict(rollback_reason why) noexcept;
    /// Encodes the written values. Returns true if there are any.
    bool encode_writes();
    /// Releases the named locks at the end of an attempt. An undo action may run other blocks on this context. When
    /// these blocks end, the undone attempt's locks stay, because that attempt has not ended yet.
    void release_locks() noexcept;
    void end_attempt(timeline_outcome how) noexcept;

    protocol_node& protocol_node_;
    rpc_client& rpc_client_;
    peer_node& node_;
    distributed_transaction transaction_;
    named_lock_client named_locks_;
    bool may_use_fast_path_ = false;  // true if no ordinary attempt runs, and the last attempt has left nothing behind
    detail::fast_path_attempt fast_path_;
    const core::policy* default_contention_policy_ = nullptr;  // the process's policy, if it is the default
    unsigned undo_blocks_ = 0;            // blocks of undo actions that run while a rolled-back block's locks are
                                          // held
    std::vector<object_id> reopen_;       // objects that are opened together with the next object
    std::int64_t wasted_opens_ = 0;       // objects that rolled-back attempts of this execution have opened, plus the
                                          // number of these attempts
    bool is_default_contention_ = false;  // the attempt's block has the default contention policy
    bool had_reservations_ = false;       // the latest attempt reserves the objects that it opens
    bool variables_are_newer_ = false;    // the variables are newer than the objects, because a node did not answer
    std::size_t validated_ = 0;           // how many open objects the latest refresh_reads has validated
    wakeup_var wakeup_{0};
    bool subscribed_ = false;
};

}  // namespace tutti::cluster
