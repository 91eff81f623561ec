// A node of a cluster whose nodes hold the objects themselves: its protocol node, its RPC endpoint, and its
// participants.
#pragma once

#include "cluster/observe/metrics.hpp"
#include "cluster/participant/enlistment.hpp"
#include "cluster/participant/node_impl.hpp"
#include "cluster/participant/wakeup_notifier.hpp"
#include "cluster/rpc/local_change_feed.hpp"

namespace tutti::cluster {

/// Returns the options of the transport that carries the nodes' messages. Throws connection_error if there are too many
/// nodes, or if `self` is not one of them.
[[nodiscard]] wire::transport_options transport_options_of(const node_options& how);

class peer_node final : public detail::node_impl {
public:
    explicit peer_node(const node_options& how);
    ~peer_node() override;

    [[nodiscard]] cluster::wakeup_notifier& notifier() noexcept { return notifier_; }
    [[noreturn]] void refuse_lost(node_number node, bool uncertain) const;
    /// Throws an error, because the objects that a block opens or writes do not fit into one message.
    [[noreturn]] void refuse_large() const;
    unsigned number() const noexcept override { return node_.self; }
    unsigned nodes() const noexcept override { return node_.nodes; }
    bool lost(unsigned node) const noexcept override {
        return node < node_.nodes && node_.objects.is_lost(static_cast<node_number>(node));
    }
    std::uint64_t cached_reads() const noexcept override { return node_.cache.count().hits; }
    node_status status() const override;
    std::uint16_t metrics_port() const noexcept override { return metrics_ ? metrics_->port() : std::uint16_t{0}; }
    engine_capabilities capabilities() const override;
    call_transport* calls() noexcept override { return node_.nodes > 1 ? &endpoint_ : nullptr; }

private:
    std::unique_ptr<object_participant> make_participant(core::descriptor& d) override;
    [[nodiscard]] std::unique_ptr<exposition::web_server> expose_metrics();

    const node_options how_;
    mutable protocol_node node_;  // mutable, because const functions lock its shards to count the objects
    local_change_feed local_changes_;
    rpc_endpoint endpoint_;
    cluster::wakeup_notifier notifier_;
    std::unique_ptr<exposition::web_server> metrics_;
};

}  // namespace tutti::cluster
