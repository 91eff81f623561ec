/// @file
/// The state of nodes, for operators of a cluster: the status of one node, and a query to all nodes.
///
///     for (const auto& reply : tutti::cluster::query_nodes({.addresses = {"127.0.0.1:7001", "127.0.0.1:7002"}}))
///         std::cout << reply.address << ": " << (reply.status ? "up" : reply.error) << '\n';
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/cluster/tls.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// The reason why an attempt that had used objects was rolled back.
enum class rollback_reason : std::uint8_t {
    busy,              ///< commits kept an object locked, or a block held an abstract lock, until the attempt gave up
    validation,        ///< another block overwrote an object that the attempt had read
    snapshot_too_old,  ///< no owner keeps the object's value at the reader's time
    prepare_refused,   ///< at the commit, a lock was not free, or an object that was read was no longer current
    local_validation,  ///< a local variable that the attempt had read is no longer current
    node_lost,         ///< a node that the attempt needs is lost (node_lost)
    outcome_unknown,   ///< a node was lost after it was asked to commit (outcome_unknown)
    retry,             ///< the attempt called retry and waits for a change
    other,             ///< a reason outside the cluster: a conflict over variables, an exception, cancel
};
inline constexpr std::size_t rollback_reasons = 9;
[[nodiscard]] constexpr rollback_reason last(rollback_reason) noexcept { return rollback_reason::other; }

[[nodiscard]] constexpr std::string_view name_of(rollback_reason r) noexcept {
    constexpr std::array<std::string_view, rollback_reasons> names{"busy",
                                                                   "validation",
                                                                   "snapshot_too_old",
                                                                   "prepare_refused",
                                                                   "local_validation",
                                                                   "node_lost",
                                                                   "outcome_unknown",
                                                                   "retry",
                                                                   "other"};
    const auto i = static_cast<std::size_t>(r);
    return i < names.size() ? names[i] : "unknown";
}

/// The figures of a node: X(name, kind, description). A `counter` grows from the node's start on. A `gauge` is a
/// present value. `node_status`, its message, its JSON form and the metrics are all generated from this list.
#define TUTTI_CLUSTER_COUNTERS(X)                                                                               \
    X(attempts, counter, "Attempts of blocks that used objects")                                                \
    X(commits, counter, "Committed blocks that used objects")                                                   \
    X(partial_rollbacks, counter, "Partial roll-backs to a nested block, caused by objects")                    \
    X(read_only_aborts, counter, "Attempts of read-only blocks that were restarted because of objects")         \
    X(conflict_waits, counter, "Times that a block waited for another block to release an object")              \
    X(reserving_attempts, counter, "Attempts that reserved their objects against blocks of lower precedence")   \
    X(locks_refused, counter, "Locks of objects of this node that were refused to a block of lower precedence") \
    X(reservations_lost, counter, "Reservations of objects of this node lost to a block of higher precedence")  \
    X(round_trips, counter, "Times that a block waited for replies of other nodes")                             \
    X(messages_sent, counter, "Messages sent to other nodes")                                                   \
    X(bytes_sent, counter, "Bytes of the messages sent to other nodes")                                         \
    X(system_calls, counter, "System calls that sent messages to other nodes")                                  \
    X(messages_received, counter, "Messages received from other nodes")                                         \
    X(bytes_received, counter, "Bytes of the messages received from other nodes")                               \
    X(objects, gauge, "Objects that exist and are owned by this node")                                          \
    X(directory_entries, gauge,                                                                                 \
      "Entries of the directory: objects, pointers to other owners, traces of erased objects")                  \
    X(old_versions, gauge, "Old values of objects, kept for readers")                                           \
    X(old_version_bytes, gauge, "Bytes of the old values")                                                      \
    X(cached_reads, counter, "Reads of other nodes' objects that this node's copies served")                    \
    X(cached_objects, gauge, "Copies that this node keeps of other nodes' objects")                             \
    X(cache_bytes, gauge, "Bytes of the copies of other nodes' objects")                                        \
    X(objects_cached_elsewhere, gauge, "Objects of this node that other nodes keep copies of")                  \
    X(in_doubt, gauge,                                                                                          \
      "Objects of this node that are locked by a transaction in doubt: its node was lost during the commit")    \
    X(transactions_in_doubt, gauge, "Transactions in doubt, which an operator can resolve")                     \
    X(in_doubt_resolved, counter,                                                                               \
      "Transactions of lost nodes that another node's knowledge of the outcome has resolved")                   \
    X(in_doubt_resolved_by_hand, counter, "Transactions in doubt that an operator has resolved")                \
    X(retry_waiters, gauge, "Blocks of this process that sleep in retry")                                       \
    X(contexts, gauge, "Threads and other contexts that have used the node")                                    \
    X(clock, gauge, "Logical clock, which commits advance")                                                     \
    X(snapshot_low_watermark, gauge, "Logical time below which no reader of this node asks for versions")       \
    X(observers, gauge, "Connected observers")                                                                  \
    X(observers_refused, counter, "Observers that were refused because too many were connected")                \
    X(observers_disconnected, counter, "Observers that were disconnected because of an invalid message")

enum class peer_state : std::uint8_t {
    self,
    connecting,  ///< the peer has not connected yet
    connected,
    lost,  ///< lost until another process takes its place
};
[[nodiscard]] constexpr std::string_view name_of(peer_state s) noexcept {
    constexpr std::array<std::string_view, 4> names{"self", "connecting", "connected", "lost"};
    const auto i = static_cast<std::size_t>(s);
    return i < names.size() ? names[i] : "unknown";
}

/// What a node has recorded about another node.
struct peer_status {
    peer_state state = peer_state::connecting;
    /// Time since the peer's last message, in steps of an eighth of `failure_timeout`. If the peer is lost, the time
    /// since its loss.
    std::uint64_t silent_ms = 0;
    template <class V>
    void fields(V& v) {
        v(state), v(silent_ms);
    }
};

/// The counters and the present state of a node. The node keeps running while it reads the figures one after the other.
/// So the figures describe a single moment only if no block runs. In this case `attempts` is the sum of `commits` and
/// all of `rolled_back`.
struct node_status {
    std::uint16_t number = 0;
    std::uint16_t nodes = 1;
    std::string release;  ///< release of Tutti, such as 0.1.0
    std::uint64_t uptime_ms = 0;
    std::uint64_t failure_timeout_ms = 0;
#define TUTTI_CLUSTER_COUNTER(name, kind, what) std::uint64_t name = 0;
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
    std::array<std::uint64_t, rollback_reasons> rolled_back{};  ///< indexed by rollback_reason
    std::vector<peer_status> peers{};                           ///< indexed by node number

    /// Calls v for each field, in the order of the message that carries them.
    template <class V>
    void fields(V& v) {
        v(number), v(nodes), v(release), v(uptime_ms), v(failure_timeout_ms);
#define TUTTI_CLUSTER_COUNTER(name, kind, what) v(name);
        TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
        for (std::uint64_t& count : rolled_back) v(count);
        v(peers);
    }
};

/// The nodes to query. The name and the addresses must equal those in the nodes' own options, because nodes reject
/// other observers.
struct observer_options {
    std::string cluster = "tutti";
    std::vector<std::string> addresses{};  ///< addresses of all nodes, in the nodes' order
    std::chrono::milliseconds timeout{1000};
    /// TLS files, required if the nodes use TLS. The nodes' authority must have signed the certificate, which may be a
    /// node's certificate or any other.
    tls_options tls{};
    /// Keys for ZeroMQ: the private key of a node, and the public keys of all nodes.
    curve_options curve{};

    /// Reads name, addresses and files from the nodes' own settings: TUTTI_CLUSTER_NODES and other variables, or the
    /// file that TUTTI_CLUSTER_CONFIG names. An observer does not need a node number. Throws configuration_error.
    [[nodiscard]] TUTTI_EXPORT static observer_options from_environment();
    /// Reads the options from a node's file. Environment variables override the file. Throws configuration_error.
    [[nodiscard]] TUTTI_EXPORT static observer_options from_file(const std::string& file);
};

struct node_reply {
    std::string address;
    std::optional<node_status> status{};
    std::string error{};  ///< the reason why `status` is empty, and what to do
    std::chrono::microseconds took{0};
};

/// Requests the status of all nodes at once, over one new connection to each node, and closes each connection after the
/// reply. Returns after at most `timeout`, in the order of the addresses. A node answers at most eight observers at a
/// time, also while it waits for other nodes to connect. Throws connection_error if an address is malformed. Reports
/// every other error in the node's reply.
[[nodiscard]] TUTTI_EXPORT std::vector<node_reply> query_nodes(const observer_options& options);

}  // namespace tutti::cluster
