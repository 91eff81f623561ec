// A node of a cluster whose nodes hold the objects themselves: its site, its channel, and its participants.
#pragma once

#include "cluster/bells.hpp"
#include "cluster/changes.hpp"
#include "cluster/enlistment.hpp"
#include "cluster/metrics.hpp"
#include "cluster/node_body.hpp"

namespace tutti::cluster {

/// Returns the options of the transport that carries the nodes' messages. Throws connection_error if there are too many
/// nodes, or if `self` is not one of them.
[[nodiscard]] wire::transport_options transport_options_of(const node_options& how);

class peer_body final : public detail::node_body {
public:
    explicit peer_body(const node_options& how);
    ~peer_body() override;

    [[nodiscard]] cluster::bells& bells() noexcept { return bells_; }
    [[noreturn]] void refuse_lost(node_number node, bool uncertain) const;
    /// Throws because what a block opens or writes does not fit into one message.
    [[noreturn]] void refuse_large() const;
    unsigned number() const noexcept override { return site_.self; }
    unsigned nodes() const noexcept override { return site_.nodes; }
    bool lost(unsigned node) const noexcept override {
        return node < site_.nodes && site_.objects.is_lost(static_cast<node_number>(node));
    }
    std::uint64_t cached_reads() const noexcept override { return site_.cache.count().looks; }
    node_facts facts() const override;
    std::uint16_t metrics_port() const noexcept override { return metrics_ ? metrics_->port() : std::uint16_t{0}; }
    engine_capabilities capabilities() const override;
    call_carrier* calls() noexcept override { return site_.nodes > 1 ? &channel_ : nullptr; }

private:
    std::unique_ptr<opened> make(core::descriptor& d) override;
    [[nodiscard]] std::unique_ptr<exposition::web_server> expose_metrics();

    const node_options how_;
    mutable site site_;  // mutable, because its objects are counted shard by shard
    changes changes_;
    channel channel_;
    cluster::bells bells_;
    std::unique_ptr<exposition::web_server> metrics_;
};

}  // namespace tutti::cluster
