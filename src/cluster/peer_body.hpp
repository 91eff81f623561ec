// A node of several that hold the objects themselves: its site, its channel, its participants.
#pragma once

#include "cluster/bells.hpp"
#include "cluster/changes.hpp"
#include "cluster/enlistment.hpp"
#include "cluster/node_body.hpp"

namespace tutti::cluster {

class peer_body final : public detail::node_body {
public:
    explicit peer_body(const node_options& how);
    ~peer_body() override;

    [[nodiscard]] cluster::bells& bells() noexcept { return bells_; }
    [[noreturn]] void refuse_lost(node_number node, bool uncertain) const;
    /// What a block opens or writes does not fit into one message.
    [[noreturn]] void refuse_large() const;
    unsigned number() const noexcept override { return site_.self; }
    unsigned nodes() const noexcept override { return site_.nodes; }
    bool lost(unsigned node) const noexcept override {
        return node < site_.nodes && site_.objects.is_lost(static_cast<node_number>(node));
    }
    node_statistics statistics() const override;
    engine_capabilities capabilities() const override;

private:
    std::unique_ptr<opened> make(core::descriptor& d) override;

    const node_options how_;
    site site_;
    changes changes_;
    channel channel_;
    cluster::bells bells_;
};

}  // namespace tutti::cluster
