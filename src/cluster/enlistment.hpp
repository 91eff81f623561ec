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
// A *light* attempt has only opened objects that are at hand, in the outermost block. Nobody has been told of it, but
// the engine; all that begins it is its time, and all that ends it is a commit in place, if it has written. It is told
// of, and an attempt like any other from then on, as soon as it does anything else.
//
//   L1  A light attempt is the first of its block, which nothing is around, and begins after a block whose end has left
//       nothing behind: no defeat, lock, bell, step, or undo action that runs. It has read no variable and put off
//       nothing, can log its reads, and its block is modest (api::join_attempt): so it behaves as every attempt does
//       whose transaction has just begun (work_.is_plain).
//   L2  Every function that does more than to open what is at hand, to commit, or to begin the next light attempt,
//       tells of it first: so none of them meets one.
//   L3  descriptor_.at_hand_ leads to light_ from the begin of an attempt to its end, which is also that of light_, if
//       it is light for so long; else that ends when it is told of. So the block opens objects by itself
//       (tutti/cluster/light.hpp) in a light attempt alone, and asks for one once.
//   L4  Such an object has no version beyond light_.time(), which is T2; and the clock said that before the look, which
//       is T1 by W3 (shown.hpp). Each is open once: a look finds it in the showcase that it was found in before, whose
//       bit is up, so it is searched for among those that are open; if it has another one by now, that shows a version
//       beyond the time.
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
#include "tutti/cluster/light.hpp"

namespace tutti::cluster {

class peer_body;

class enlistment final : public opened, private other_reads {
public:
    enlistment(site& here, line& to, core::descriptor& of, peer_body& body);
    ~enlistment() override;

    detail::slot& open(const object_id& id, detail::hint& found) override;
    detail::slot& open_to_write(const object_id& id, detail::hint& found) override;
    detail::light_attempt* open_lightly() noexcept override;
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
    bool commit_alone() noexcept override;
    /// Of the outermost block: a snapshot goes on where a block inside is rolled back alone.
    void rolled_back() noexcept override;

private:
    /// Makes sure that the attempt that runs is joined. May leave by a restart, or usage_error.
    void touch() {
        tell();
        const bool bound = descriptor_.bound_to_commit();
        if (!joined()) touch_first();
        if (bound && !work_.is_bound()) touch_bound();
    }
    /// L2. Also of one that is over but for its undo actions, of which one runs a block.
    void tell() noexcept {
        if (light_.runs()) tell_now();
    }
    void tell_now() noexcept;
    /// L1, at the end of an attempt that commits.
    void note_what_is_left() noexcept;
    /// Commits one that has written. False: nothing has happened.
    [[nodiscard]] bool write_in_place() noexcept;
    /// It has committed.
    void pass() noexcept {
        descriptor_.at_hand_ = nullptr;
        light_.end();
        tally_.passed();
    }
    /// Whether the block, whose attempt is no light one, may open what is at hand, and has nothing to do but that.
    template <bool Writes>
    [[nodiscard]] bool may_open_at_hand() noexcept;
    /// REQUIRES: may_open_at_hand
    [[nodiscard]] detail::slot& open_at_hand(const object_id& id, detail::hint& found);
    [[nodiscard]] TUTTI_NOINLINE detail::slot& open_larger(const object_id& id, detail::hint& found);
    /// Into that slot, by that entry. False: it is not at hand.
    [[nodiscard]] bool take_at_hand(entry& e, detail::slot& into, const object_id& id, const detail::hint& found,
                                    const detail::image& to) noexcept;
    void touch_first();
    void touch_bound();
    void begin_attempt();
    /// Tells the attempt how to behave.
    void mind_others();
    void pause_after_defeat();
    /// Whose age and defeats count: those of the outermost block that runs around this one, if it has opened objects.
    [[nodiscard]] enlistment& leader();
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
    bool may_be_light_ = false;  // the next attempt: none runs, and the last one has left nothing behind
    detail::light_attempt light_;
    const core::policy* modest_ = nullptr;  // the process's, if blocks under it are modest
    unsigned blocks_of_undo_ = 0;           // that run while the locks of a block that is rolled back are held
    std::vector<object_id> again_;          // what is opened with the next object
    std::int64_t work_in_vain_ = 0;  // objects that attempts of this execution have opened and lost, and the attempts
    bool is_modest_ = false;         // its block (api::join_attempt)
    bool was_shielded_ = false;      // the last attempt
    bool spoilt_ = false;            // variables are of a later state than objects, whose node did not answer
    std::size_t looked_at_ = 0;      // so many objects, as of now, when no more were open
    bell bell_{0};
    bool enrolled_ = false;
};

}  // namespace tutti::cluster
