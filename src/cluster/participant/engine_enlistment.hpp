// Makes an engine's objects part of a transaction of this process. There is one enlistment for each context
// (descriptor) and node.
//
//   join                  joins the attempt as a companion
//   an object is opened   calls get, with all objects that are held; then validates the local reads
//   the snapshot moves    checks the held objects again, as of now
//   vote                  commits in the engine: the vote is the decision, so this participant must vote last
//   retry                 sleeps on a wake-up variable (wakeup_notifier.hpp)
//   irrevocable           acquires the lease (backend/lease.hpp), and reserves the objects that the block opens
//                         (reservation.hpp). Other blocks do not overwrite a reserved object, so every get and the
//                         commit succeed as long as the lease holds
//
// Every transaction has an instant. The instant of a transaction that writes objects is that of the engine's commit.
// Otherwise it is that of the transaction's last get. At that instant, all objects and variables that the transaction
// has read were current. Every other transaction sees either all of its writes or none:
//
//   ENL1  After a get of instant m, a local read was current at m if it was made before the call and is valid after the
//       call's return. If the validation moves the snapshot, m is too early for the snapshot's new content: call get
//       again.
//   ENL2  A variable that is read later, and is no newer than the snapshot, has not changed since before m.
//   ENL3  A newer variable moves the snapshot, to an instant v. Objects that are found unchanged later were current at
//       v, because versions never recur.
//   ENL4  While the engine commits, local writes are locked and local reads are protected (api::lock_reads). So the
//       variables are also current at the instant of the engine's commit. Another block that reads such a variable
//       meanwhile finds it locked until it is published.
//   ENL5  A transaction that writes only variables checks its objects again once these variables are locked.
//
// docs/cluster-engines.md has the proof. Not thread-safe: an enlistment belongs to its context.
#pragma once

#include <deque>
#include <unordered_map>

#include "cluster/participant/engine_node.hpp"
#include "cluster/participant/object_participant.hpp"
#include "cluster/participant/reservation.hpp"

namespace tutti::cluster {

class engine_enlistment final : public object_participant {
public:
    engine_enlistment(engine_node& node, core::descriptor& of) : object_participant{of}, node_{node} {}
    ~engine_enlistment() override;

    detail::slot& open(const object_id& id, detail::location_hint& found) override;
    detail::fast_path_attempt* open_fast_path() noexcept override { return nullptr; }
    void open(std::span<const object_id> ids) override;
    void acquire(std::span<const named_lock> locks) override;

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override {}
    bool on_snapshot_extended() override;
    bool on_retry() override;
    /// Does nothing: an engine reports only whether anything has changed, so a conflict does not determine a nested
    /// block to return to.
    void recheck() override {}
    /// Returns true if the block has opened nothing. A block that has opened objects has to start over, because the
    /// engine reserves objects only when a block with the lease opens them.
    bool freeze() override { return !is_joined() || objects_.empty(); }
    void on_rollback() noexcept override {
        release_lease();
        counters_.count_rollback();
    }

private:
    struct engine_object {
        object_id id;
        std::size_t number = 0;  // the object's index among the entries
        backend::record seen;
        backend::version reserved = 0;  // the fence of another block's lease; 0: not reserved
        detail::slot* user = nullptr;
    };

    void drop_objects(std::size_t kept) noexcept override;
    void ensure_joined();
    /// Calls the engine's `get`. If it fails, restarts the attempt or throws.
    void get(backend::freshness how, std::span<const backend::key> keys);
    /// Validates the local reads as in ENL1.
    void validate_local_reads();
    [[nodiscard]] bool is_current();
    /// Gets the objects of an irrevocable block and reserves them.
    void get_and_reserve(std::span<const backend::key> keys);
    /// Reads the versions that the commit of the reservations has given to the objects. Needed for an engine whose
    /// commits have several versions (ENG8).
    [[nodiscard]] backend::engine_status read_reserved_versions(std::span<const backend::key> keys,
                                                                std::span<const backend::write> reserved);
    void acquire_lease();
    void release_lease() noexcept;
    /// Waits for the end of the lease under which another block has reserved an object that this block writes.
    void await_lease();
    /// Returns true if another block has reserved an object that this block writes.
    [[nodiscard]] bool writes_reserved_object();
    [[nodiscard]] std::vector<backend::write> collect_writes();
    /// Commits in the engine. Throws std::length_error if the engine rejects the commit because of its size.
    [[nodiscard]] backend::engine_status commit_in_engine(std::vector<backend::check>& checks,
                                                          std::vector<backend::write>& writes, backend::version& at);
    [[nodiscard]] vote vote_restart();
    [[noreturn]] void restart();

    engine_node& node_;
    backend::read_snapshot snapshot_;
    std::deque<engine_object> objects_;
    std::unordered_map<object_id, engine_object*, object_id_hash> index_;
    std::vector<backend::check> checks_;  // one check for each entry, in the entries' order
    std::vector<backend::record> records_;
    backend::version fence_ = 0;  // the fence of the lease that this block holds, or 0; checks_ then begins with the
                                  // lease
    backend::version awaited_fence_ = 0;  // fence of the lease that has made the last attempt restart, or 0
    backend::lease_observation lease_observation_;
    wakeup_var wakeup_{0};
    bool subscribed_ = false;
    std::uint64_t random_ = 0;
};

}  // namespace tutti::cluster
