// The base of a node, whether nodes or an engine hold its objects: one participant for each context that has used it.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cluster/opened.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster::detail {

class node_body {
public:
    node_body();
    virtual ~node_body();
    node_body(const node_body&) = delete;
    node_body& operator=(const node_body&) = delete;

    /// Returns the participant of the calling context. Throws usage_error outside a block.
    opened& here(tx& t);
    opened& here(core::descriptor& d);
    /// Returns true if this thread's latest lookup was for that context. The participant is then here_again().
    [[nodiscard]] bool was_here(const core::descriptor& d) const noexcept;
    [[nodiscard]] opened& here_again() const noexcept;

    [[nodiscard]] virtual unsigned number() const noexcept = 0;
    [[nodiscard]] virtual unsigned nodes() const noexcept = 0;
    [[nodiscard]] virtual bool lost(unsigned node) const noexcept = 0;
    [[nodiscard]] node_statistics statistics() const;
    [[nodiscard]] virtual node_facts facts() const = 0;
    [[nodiscard]] virtual std::uint16_t metrics_port() const noexcept { return 0; }
    [[nodiscard]] virtual engine_capabilities capabilities() const = 0;
    [[nodiscard]] virtual call_carrier* calls() noexcept { return nullptr; }
    [[nodiscard]] virtual std::uint64_t cached_reads() const noexcept { return 0; }

protected:
    /// Returns the counts of all contexts, and facts about the process.
    [[nodiscard]] node_facts gather() const;
    /// Destroys the participants. A derived destructor calls this while its members still exist, because participants
    /// refer to them.
    void forget_participants();

private:
    opened& look_for(core::descriptor& d);
    virtual std::unique_ptr<opened> make(core::descriptor& d) = 0;

    const std::uint64_t number_of_body_;  // unique, unlike an address, which may be used again
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    mutable std::mutex guard_;
    std::unordered_map<core::descriptor*, std::unique_ptr<opened>> opened_;
};

/// Makes a node of a cluster whose nodes hold the objects themselves.
[[nodiscard]] std::unique_ptr<node_body> make_peer_body(const node_options& how);
/// Makes a node whose objects are held by an engine.
[[nodiscard]] std::unique_ptr<node_body> make_engine_body(const engine_options& how);

}  // namespace tutti::cluster::detail
