// How the protocol takes part in a transaction of the engine: one for each context (descriptor) and node.
//
//   first touch           joins the attempt as a companion, begins at the node's clock; as a snapshot reader if the
//                         block has promised to write nothing
//   the snapshot moves    forwards to the node's clock: what others on this node committed here may depend on commits
//                         of the cluster that came after what this transaction has read of it
//   contention            does as the block's policy says, or as one that has lost too often: waits for others or not,
//                         goes before them or not
//   a conflict            goes back to the innermost block that had begun when the first stale object was opened
//   a checkpoint ends     asks for every object once more, unless it has just done so
//   retry                 a bell (bells.hpp), which the owners of what was read have rung
//   irrevocable           binds: takes the token, and has reserved what it has opened, and whatever it opens later
//   vote                  prepares: locks here and elsewhere, draws the version; then the local reads are validated
//                         once more
//   commit                publishes, releases
//   roll-back             nothing but abstract locks: before the vote no object is held. The next first touch finds
//                         another attempt
//
// docs/cluster-protocol.md, "With the engine", proves that local variables and objects have one order.
//
// Not thread-safe: it belongs to its context.
#pragma once

#include "cluster/bells.hpp"
#include "cluster/channel.hpp"
#include "cluster/opened.hpp"
#include "cluster/protocol/claims.hpp"
#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster {

class peer_body;

class enlistment final : public opened, private other_reads {
public:
    enlistment(site& here, line& to, core::descriptor& of, peer_body& body)
        : opened{of}, site_{here}, line_{to}, body_{body}, work_{here, to, to.slot, this}, claims_{here, to, to.slot} {}
    ~enlistment() override;

    detail::slot& open(const object_id& id, detail::hint& found) override;
    void open(std::span<const object_id> ids) override;
    void ask_ahead(std::span<const object_id> ids) override;
    void acquire(std::span<const named_lock> locks) override;

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;
    bool snapshot_moved() override;
    bool heed_retry() override;
    void look_again() override;
    bool hold_still() override;
    /// Of the outermost block: a snapshot goes on where a block inside is rolled back alone.
    void rolled_back() noexcept override;

private:
    /// Makes sure that the attempt that runs is joined. May leave by a restart, or usage_error.
    void touch() {
        const bool bound = descriptor_.bound_to_commit();
        if (!joined()) touch_first();
        if (bound && !work_.is_bound()) touch_bound();
    }
    void touch_first();
    void touch_bound();
    [[nodiscard]] bool begin_plainly();
    void begin_attempt();
    /// Tells the attempt how to behave.
    void mind_others();
    void pause_after_defeat();
    /// Whose age and defeats count: those of the outermost block that runs around this one, if it has opened objects.
    [[nodiscard]] enlistment& leader();
    [[nodiscard]] TUTTI_NOINLINE detail::slot& open_first(const object_id& id, detail::hint& found);
    [[nodiscard]] TUTTI_NOINLINE detail::slot& find_or_open(const object_id& id, detail::hint& found);
    void open_new(std::span<const object_id> ids);
    /// Of an irrevocable block: waits for the objects, however long others hold them.
    [[nodiscard]] outcome open_in_the_end(std::span<const object_id> ids);
    /// Of an irrevocable block that has opened nothing yet.
    void bind();
    void refuse_second_cluster() const;
    [[nodiscard]] const transaction_name& family() const;
    [[noreturn]] void fail_to_claim(outcome o);
    /// What is rolled back goes the same way again as a rule. Opened in one trip, its objects are had sooner and stay
    /// current for as long as the rest takes, which is what the conflict was about.
    void note_to_open_again();
    bool stand(std::uint64_t& at) override;
    void forget_objects(std::size_t kept) noexcept override;
    /// May leave to a block that is open. Returns where the attempt has to start over.
    void try_to_go_back();
    /// Every object as of now.
    [[nodiscard]] outcome look_anew();
    [[noreturn]] void restart();
    [[noreturn]] void fail(outcome o);
    [[nodiscard]] bool is_reader() const noexcept;
    void note_defeat(rollback_reason why) noexcept;
    /// Whether there are any.
    bool encode_writes();
    /// The attempt is over. An undo action may run blocks of its own on this context, which end before the attempt that
    /// it undoes; its locks stay until then.
    void end_claims() noexcept;
    void end_attempt(timeline_end how) noexcept;

    site& site_;
    line& line_;
    peer_body& body_;
    transaction work_;
    claims claims_;
    unsigned blocks_of_undo_ = 0;    // that run while the locks of a block that is rolled back are held
    std::vector<object_id> again_;   // what is opened with the next object
    std::int64_t work_in_vain_ = 0;  // objects that attempts of this execution have opened and lost, and the attempts
    bool is_modest_ = false;         // its block (api::join_attempt)
    bool was_shielded_ = false;      // the last attempt
    bool spoilt_ = false;            // variables are of a later state than objects, whose node did not answer
    bool looked_ = false;            // at every object, as of now, since the last was opened
    bell bell_{0};
    bool enrolled_ = false;
};

}  // namespace tutti::cluster
