// How the objects of an engine take part in a transaction of ours: one for each context (descriptor) and node.
//
//   first touch           joins the attempt as a companion
//   an object is opened   get, with all that is held; then the local reads are validated
//   the snapshot moves    what is held is asked for again, as of now
//   vote                  commits in the engine: the vote is the decision, so nobody may vote after it
//   retry                 a bell (bells.hpp)
//   irrevocable           takes the lease (backend/lease.hpp), and reserves what it opens (reservation.hpp): nobody
//                         else overwrites that, so every get and the commit succeed as long as the lease holds
//
// Every transaction has an instant: of the engine's commit if it writes objects, of its last get if not. Then all that
// it has read was current, here and there, and nobody sees a part of what it writes:
//
//   E1  after a get of instant m, local reads that were made before the call and are valid after the return were
//       current at m. If the look moves the snapshot, m is too early for what the snapshot now holds: get again
//   E2  a variable that is read later, and is no newer than the snapshot, has not changed since before m
//   E3  a variable that is newer moves the snapshot, to an instant v; objects that are found unchanged later were
//       current at v (a version never comes again)
//   E4  while the engine commits, local writes are locked, and local reads are protected (api::protect_reads), so that
//       the instant of the engine's commit is one of the variables, too. A block that reads a variable which is
//       being written finds it locked until it is published
//   E5  a transaction that writes variables alone asks for its objects again when these are locked
//
// docs/cluster-engines.md has the proof. Not thread-safe: it belongs to its context.
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
    /// An engine says only whether anything has changed: its conflicts have no way back to look for.
    void look_again() override {}
    /// An engine reserves objects for the block that holds the lease, so that block opens again what it had
    /// opened before.
    bool hold_still() override { return !joined() || entries_.empty(); }
    void rolled_back() noexcept override {
        give_up_lease();
        tally_.rolled_back();
    }

private:
    struct entry {
        object_id id;
        std::size_t number = 0;  // among the entries
        backend::record seen;
        backend::version reserved = 0;  // by another: the fence of its lease
        detail::slot* user = nullptr;
    };

    void forget_objects(std::size_t kept) noexcept override;
    void touch();
    /// get, and a restart or an error if it is not good.
    void get(backend::freshness how, std::span<const backend::key> wanted);
    /// E1
    void stand();
    [[nodiscard]] bool is_current();
    /// get, of an irrevocable block.
    void get_and_reserve(std::span<const backend::key> wanted);
    /// The versions that what it has reserved has got, where a commit has several (B8).
    [[nodiscard]] backend::verdict look_at_reserved(std::span<const backend::key> wanted,
                                                    std::span<const backend::write> reserved);
    void take_lease();
    void give_up_lease() noexcept;
    /// Until the lease under which an object was reserved that this block writes is over.
    void await_lease();
    /// Whether somebody holds what this block writes.
    [[nodiscard]] bool meets_reservation();
    [[nodiscard]] std::vector<backend::write> gather();
    /// Throws std::length_error where the engine refuses it.
    [[nodiscard]] backend::verdict commit_in_engine(std::vector<backend::check>& checks,
                                                    std::vector<backend::write>& writes, backend::version& at);
    [[nodiscard]] vote say_restart();
    [[noreturn]] void restart();

    engine_body& body_;
    backend::snapshot snapshot_;
    std::deque<entry> entries_;
    std::unordered_map<object_id, entry*, object_id_hash> index_;
    std::vector<backend::check> held_;  // of the entries, in their order
    std::vector<backend::record> found_;
    backend::version fence_ = 0;    // of the lease that this block holds; held_ begins with it then
    backend::version awaited_ = 0;  // the fence of the lease that it has met in its last attempt
    backend::sighting sighting_;
    bell bell_{0};
    bool enrolled_ = false;
    std::uint64_t random_ = 0;
};

}  // namespace tutti::cluster
