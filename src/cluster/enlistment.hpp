// How the protocol takes part in a transaction of the engine: one enlistment for each context (descriptor) and node.
//
//   first touch           joins the attempt as a companion, and begins at the node's clock. If the block has promised
//                         to write nothing, begins as a snapshot reader
//   the snapshot moves    forwards to the node's clock. Commits of variables on this node may depend on commits of the
//                         cluster that are newer than this transaction's objects
//   contention            follows the block's policy, or the rules for a block that has lost too often. They say
//                         whether it waits for other transactions, and whether it goes before them
//   a conflict            goes back to the innermost block that had begun when the first stale object was opened
//   a checkpoint ends     asks for every object once more, unless it has just done so
//   retry                 uses a bell (bells.hpp), which the owners of the objects ring
//   irrevocable           binds: takes the token, and reserves all objects that the block has opened or opens later
//   vote                  prepares: locks here and elsewhere, and draws the version; then validates the local reads
//                         once more
//   commit                publishes and releases
//   roll-back             releases only abstract locks: before the vote no object is held. The next first touch finds
//                         another attempt
//
// A *light* attempt has only opened objects that are at hand, in the outermost block. Only the engine knows of a light
// attempt. The begin of a light attempt only reads the clock. A light attempt that has written ends with a commit in
// place. Any other light attempt ends without any work. As soon as a light attempt does anything else, it is announced
// to the protocol, the statistics and the timeline, and becomes an ordinary attempt.
//
//   L1  A light attempt is the first attempt of an outermost block. The block before it has left nothing behind: no
//       defeat, lock, bell, step, or running undo action. A light attempt has read no variable and deferred nothing, it
//       can log its reads, and its block is modest (api::join_attempt). So a light attempt behaves as every attempt
//       whose transaction has just begun (work_.is_plain).
//   L2  A function announces the light attempt first if it does more than open objects at hand, commit, or begin the
//       next one. So such a function never meets a light attempt.
//   L3  descriptor_.at_hand_ points to light_ from the attempt's begin to the end of light_. light_ ends with the
//       attempt, or when the attempt is announced. So the block opens objects by itself (tutti/cluster/light.hpp) only
//       in a light attempt, and asks for a light attempt at most once.
//   L4  An object that a light attempt has opened has no version beyond light_.time(), which is T2. The clock said that
//       time before the look, which is T1 by W3 (shown.hpp). Each object is open at most once. A second look finds the
//       object in the same showcase, whose bit is set, and then searches the open objects. If the object has a
//       different showcase by then, that one shows a version beyond the time.
//
// docs/cluster-protocol.md, "With the engine", proves that local variables and objects have one order.
//
// Not thread-safe: an enlistment belongs to its context.
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
    void recheck() override;
    bool freeze() override;
    bool commit_one_phase() noexcept override;
    /// Ends the attempt of the outermost block. A snapshot continues if only a nested block is rolled back.
    void rolled_back() noexcept override;

private:
    /// Makes sure that the running attempt is joined. May exit by a restart or usage_error.
    void touch() {
        tell();
        const bool bound = descriptor_.must_commit();
        if (!joined()) touch_first();
        if (bound && !work_.is_bound()) touch_bound();
    }
    /// Announces a running light attempt (L2), even one whose undo actions run, because an undo action may run a block.
    void tell() noexcept {
        if (light_.runs()) tell_now();
    }
    void tell_now() noexcept;
    /// Notes at the end of a committing attempt whether the next one may be light (L1).
    void note_what_is_left() noexcept;
    /// Commits a light attempt that has written. Returns false if nothing has happened.
    [[nodiscard]] bool write_in_place() noexcept;
    /// Ends a light attempt that has committed.
    void pass() noexcept {
        descriptor_.at_hand_ = nullptr;
        light_.end();
        tally_.passed();
    }
    /// Returns true if the block, whose attempt is not light, may open objects at hand and has nothing else to do
    /// first.
    template <bool Writes>
    [[nodiscard]] bool may_open_at_hand() noexcept;
    /// REQUIRES: may_open_at_hand
    [[nodiscard]] detail::slot& open_at_hand(const object_id& id, detail::hint& found);
    [[nodiscard]] TUTTI_NOINLINE detail::slot& open_larger(const object_id& id, detail::hint& found);
    /// Opens the object into the slot `into`, by the entry `e`. Returns false if the object is not at hand.
    [[nodiscard]] bool take_at_hand(entry& e, detail::slot& into, const object_id& id, const detail::hint& found,
                                    const detail::image& to) noexcept;
    void touch_first();
    void touch_bound();
    void begin_attempt();
    /// Tells the attempt how to treat other transactions.
    void mind_others();
    void pause_after_defeat();
    /// Returns the enlistment whose age and defeats count: that of the outermost block that runs around this one, if it
    /// has opened objects.
    [[nodiscard]] enlistment& leader();
    [[nodiscard]] TUTTI_NOINLINE detail::slot& find_or_open(const object_id& id, detail::hint& found);
    void open_new(std::span<const object_id> ids);
    /// Opens the objects. An irrevocable block waits for them, however long other transactions hold them.
    [[nodiscard]] outcome open_in_the_end(std::span<const object_id> ids);
    /// Binds an irrevocable block that has opened nothing yet.
    void bind();
    void refuse_second_cluster() const;
    [[nodiscard]] const transaction_name& family() const;
    [[noreturn]] void fail_to_claim(outcome o);
    /// Notes the open objects, so that the next attempt opens them in one trip. A block that is rolled back usually
    /// opens the same objects again. One trip gets the objects sooner, so they become stale less often before the block
    /// ends. Staleness is what caused the conflict.
    void note_to_open_again();
    bool stand(std::uint64_t& at) override;
    void forget_objects(std::size_t kept) noexcept override;
    /// Tries to go back to an open nested block, and does not return then. Returns if the attempt has to start over.
    void try_to_go_back();
    /// Validates every object as of now.
    [[nodiscard]] outcome look_anew();
    [[noreturn]] void restart();
    [[noreturn]] void fail(outcome o);
    [[nodiscard]] bool is_reader() const noexcept;
    void note_defeat(rollback_reason why) noexcept;
    /// Encodes the written values. Returns true if there are any.
    bool encode_writes();
    /// Releases the claims at the end of an attempt. An undo action may run blocks of its own on this context. These
    /// blocks end before the undone attempt, whose locks stay until its own end.
    void end_claims() noexcept;
    void end_attempt(timeline_end how) noexcept;

    site& site_;
    line& line_;
    peer_body& body_;
    transaction work_;
    claims claims_;
    bool may_be_light_ = false;  // for the next attempt: none runs, and the last one has left nothing behind
    detail::light_attempt light_;
    const core::policy* modest_ = nullptr;  // the process's policy, if blocks under it are modest
    unsigned blocks_of_undo_ = 0;           // blocks of undo actions that run while a rolled-back block's locks are
                                            // held
    std::vector<object_id> again_;          // objects that are opened together with the next object
    std::int64_t work_in_vain_ = 0;         // objects that attempts of this execution have opened and lost, plus these
                                            // attempts
    bool is_modest_ = false;                // whether its block is modest (api::join_attempt)
    bool was_shielded_ = false;             // whether the last attempt was shielded
    bool spoilt_ = false;                   // the variables are newer than the objects, because a node did not answer
    std::size_t looked_at_ = 0;             // how many objects were open at the last validation as of now
    bell bell_{0};
    bool enrolled_ = false;
};

}  // namespace tutti::cluster
