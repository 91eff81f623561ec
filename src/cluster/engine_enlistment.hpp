// How an engine's objects take part in a transaction of ours: one enlistment for each context (descriptor) and node.
//
//   first touch           joins the attempt as a companion
//   an object is opened   calls get, with all objects that are held; then validates the local reads
//   the snapshot moves    asks for the held objects again, as of now
//   vote                  commits in the engine: the vote is the decision, so this participant must vote last
//   retry                 uses a bell (bells.hpp)
//   irrevocable           takes the lease (backend/lease.hpp), and reserves the objects that the block opens
//                         (reservation.hpp). Other blocks do not overwrite a reserved object, so every get and the
//                         commit succeed as long as the lease holds
//
// Every transaction has an instant. The instant of a transaction that writes objects is that of the engine's commit.
// Otherwise it is that of the transaction's last get. At that instant, all objects and variables that the transaction
// has read were current. Every other transaction sees either all of its writes or none:
//
//   E1  After a get of instant m, these local reads were current at m: those made before the call and valid after its
//       return. If the validation moves the snapshot, m is too early for the snapshot's new content: call get again.
//   E2  A variable that is read later, and is no newer than the snapshot, has not changed since before m.
//   E3  A newer variable moves the snapshot, to an instant v. Objects that are found unchanged later were current at v,
//       because a version never comes again.
//   E4  While the engine commits, local writes are locked and local reads are protected (api::lock_reads). So the
//       variables are also current at the instant of the engine's commit. A block that reads a variable during its
//       write finds the variable locked until it is published.
//   E5  A transaction that writes only variables asks for its objects again once these variables are locked.
//
// docs/cluster-engines.md has the proof. Not thread-safe: an enlistment belongs to its context.
#pragma once

#include <deque>
#include <unordered_map>

#include "cluster/engine_body.hpp"
#include "cluster/opened.hpp"
#include "cluster/reservation.hpp"

namespace tutti::cluster {

class engine_enlistment final : public opened {
public:
    engine_enlistment(engine_body& body, core::descriptor& of) : opened{of}, body_{body} {}
    ~engine_enlistment() override;

    detail::slot& open(const object_id& id, detail::hint& found) override;
    detail::light_attempt* open_lightly() noexcept override { return nullptr; }
    void open(std::span<const object_id> ids) override;
    void acquire(std::span<const named_lock> locks) override;

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override {}
    bool snapshot_moved() override;
    bool heed_retry() override;
    /// Does nothing. An engine says only whether anything has changed, so a conflict has no nested block to return to.
    void recheck() override {}
    /// Returns true if the block has opened nothing. The engine reserves objects only for a block that holds the lease.
    /// A block that has opened objects before must therefore open them again.
    bool freeze() override { return !joined() || entries_.empty(); }
    void rolled_back() noexcept override {
        give_up_lease();
        tally_.rolled_back();
    }

private:
    struct entry {
        object_id id;
        std::size_t number = 0;  // index among the entries
        backend::record seen;
        backend::version reserved = 0;  // the fence of another block's lease; 0: not reserved
        detail::slot* user = nullptr;
    };

    void forget_objects(std::size_t kept) noexcept override;
    void touch();
    /// Calls the engine's get. Restarts the attempt or throws if the get fails.
    void get(backend::freshness how, std::span<const backend::key> wanted);
    /// Validates the local reads as in E1.
    void stand();
    [[nodiscard]] bool is_current();
    /// Gets the objects of an irrevocable block and reserves them.
    void get_and_reserve(std::span<const backend::key> wanted);
    /// Reads the versions that the reserved objects have got, for an engine whose commits have several versions (ENG8).
    [[nodiscard]] backend::engine_status look_at_reserved(std::span<const backend::key> wanted,
                                                          std::span<const backend::write> reserved);
    void take_lease();
    void give_up_lease() noexcept;
    /// Waits for the end of the lease under which another block has reserved an object that this block writes.
    void await_lease();
    /// Returns true if another block has reserved an object that this block writes.
    [[nodiscard]] bool meets_reservation();
    [[nodiscard]] std::vector<backend::write> gather();
    /// Commits in the engine. Throws std::length_error if the engine refuses the commit's size.
    [[nodiscard]] backend::engine_status commit_in_engine(std::vector<backend::check>& checks,
                                                          std::vector<backend::write>& writes, backend::version& at);
    [[nodiscard]] vote say_restart();
    [[noreturn]] void restart();

    engine_body& body_;
    backend::read_snapshot snapshot_;
    std::deque<entry> entries_;
    std::unordered_map<object_id, entry*, object_id_hash> index_;
    std::vector<backend::check> held_;  // one check for each entry, in the entries' order
    std::vector<backend::record> found_;
    backend::version fence_ = 0;    // the fence of the lease that this block holds, or 0; held_ then begins with the
                                    // lease
    backend::version awaited_ = 0;  // the fence of the lease that the last attempt has met, or 0
    backend::lease_observation sighting_;
    bell bell_{0};
    bool enrolled_ = false;
    std::uint64_t random_ = 0;
};

}  // namespace tutti::cluster
