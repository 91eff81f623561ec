// The base class of both kinds of nodes: nodes that hold the objects themselves, and nodes whose objects an engine
// holds. A node has one participant for each context that has used the node.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cluster/participant/object_participant.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster::detail {

class node_impl {
public:
    node_impl();
    virtual ~node_impl();
    node_impl(const node_impl&) = delete;
    node_impl& operator=(const node_impl&) = delete;

    /// Returns the participant of the calling context. Throws usage_error if the caller is outside a block.
    object_participant& participant_of(tx& t);
    object_participant& participant_of(core::descriptor& d);
    /// Returns true if this thread's latest lookup was for the context of `d`. The participant is then
    /// cached_participant().
    [[nodiscard]] bool is_cached(const core::descriptor& d) const noexcept;
    [[nodiscard]] object_participant& cached_participant() const noexcept;

    [[nodiscard]] virtual unsigned number() const noexcept = 0;
    [[nodiscard]] virtual unsigned nodes() const noexcept = 0;
    [[nodiscard]] virtual bool lost(unsigned node) const noexcept = 0;
    [[nodiscard]] node_statistics statistics() const;
    [[nodiscard]] virtual node_status status() const = 0;
    [[nodiscard]] virtual std::uint16_t metrics_port() const noexcept { return 0; }
    [[nodiscard]] virtual engine_capabilities capabilities() const = 0;
    [[nodiscard]] virtual call_transport* calls() noexcept { return nullptr; }
    [[nodiscard]] virtual std::uint64_t cached_reads() const noexcept { return 0; }

protected:
    /// Returns the counts of all contexts, and the status of the process.
    [[nodiscard]] node_status collect_status() const;
    /// Destroys the participants. The destructor of a derived class calls this function while the class's members still
    /// exist, because participants refer to them.
    void destroy_participants();

private:
    object_participant& find_or_make(core::descriptor& d);
    virtual std::unique_ptr<object_participant> make_participant(core::descriptor& d) = 0;

    const std::uint64_t instance_;  // a unique number; an address would not be unique, because it may be used again
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    mutable std::mutex guard_;
    std::unordered_map<core::descriptor*, std::unique_ptr<object_participant>> participants_;
};

/// Makes a node of a cluster whose nodes hold the objects themselves.
[[nodiscard]] std::unique_ptr<node_impl> make_peer_node(const node_options& how);
/// Makes a node whose objects are held by an engine.
[[nodiscard]] std::unique_ptr<node_impl> make_engine_node(const engine_options& how);

}  // namespace tutti::cluster::detail
