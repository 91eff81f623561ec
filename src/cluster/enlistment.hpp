// How the protocol takes part in a transaction of the engine: one for each context (descriptor) and node.
//
//   first touch           joins the attempt as a companion, begins at the node's clock
//   the snapshot moves    forwards to the node's clock: what others on this node committed here may depend on commits
//                         of the cluster that came after what this transaction has read of it
//   vote                  prepares: locks here and elsewhere; then the local reads are validated once more
//   commit                draws the version, publishes, releases
//   roll-back             nothing: before the vote nothing is held. The next first touch finds another attempt
//
// docs/cluster-protocol.md, "With the engine", proves that local variables and objects have one order.
//
// Not thread-safe: it belongs to its context.
#pragma once

#include <deque>
#include <memory>

#include "cluster/channel.hpp"
#include "cluster/protocol/transaction.hpp"
#include "core/state/descriptor.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

class enlistment final : public participant, private other_reads {
public:
    enlistment(site& here, line& to, core::descriptor& of, detail::node_body& body)
        : site_{here}, line_{to}, descriptor_{of}, body_{body}, work_{here, to, to.slot, this} {}

    /// Makes sure that the attempt that runs is joined. May leave by a restart, or usage_error.
    void touch();
    detail::slot& open(const object_id& id);
    void open(std::span<const object_id> ids);
    /// What the slot says from now on is undone when the innermost block is rolled back.
    void note_for_undo(detail::slot& s);

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;
    bool snapshot_moved() override;

private:
    bool stand(std::uint64_t& at) override;
    [[noreturn]] void restart();
    [[noreturn]] void fail(outcome o);
    void encode_writes();

    site& site_;
    line& line_;
    core::descriptor& descriptor_;
    detail::node_body& body_;
    transaction work_;
    tutti::detail::word attempt_ = 0;  // own_sequence of the attempt that it has joined
    unsigned defeats_ = 0;             // restarts in a row
    std::deque<detail::slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace tutti::cluster
