/// @file
/// Objects in an engine: a group of Tutti's own members, etcd, PostgreSQL, Redis, or the memory of this process.
///
///     tutti::cluster::node here{tutti::cluster::engine_options{.address = "etcd://127.0.0.1:2379"}};
///
/// All other code stays the same: `ref<T>`, `atomically`, and local variables in the same blocks as objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/cluster/tls.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

struct engine_options {
    /// The address of the engine, in one of these forms:
    /// - `memory:` is the memory of this node. `memory:name` is memory that all nodes of this process with that name
    ///   share.
    /// - `tutti://host:port,host:port` are members of a group (docs/cluster-replication.md). Semicolons separate
    ///   several groups, over which the objects are spread.
    /// - `etcd://host:port,host:port`
    /// - `postgres://…`, as libpq accepts it
    /// - `redis://host:port` or `redis:/path/of/socket`
    /// Only loopback addresses and Unix sockets are allowed for unencrypted connections. Groups can use TLS (`tls`).
    std::string address = "memory:";
    /// A prefix of every key, so that several clusters can share an engine. Letters, digits, `-` and `_` are allowed.
    std::string prefix = "tutti";
    /// The maximum wait for the engine. After this time, the block treats the engine as lost.
    std::chrono::milliseconds request_timeout{5000};
    /// How long an irrevocable block may keep its objects locked. Normally the block keeps every object that it has
    /// opened locked until the block ends. If the program of the block is killed, other writers wait for this long. If
    /// an irrevocable block takes longer while other writers wait, it loses its objects (node_lost).
    std::chrono::milliseconds lease{10000};
    /// Sends concurrent commits and first reads of several threads in one request, if the engine supports this: groups,
    /// etcd.
    bool batch = true;
    /// If not 0, the node keeps copies of the objects that it reads, up to 64 MiB. A block that writes no object may
    /// then see an older state of the objects, but one that was current at most this long before the block began. The
    /// state always contains everything that this process has committed or seen. Blocks that write objects stay
    /// strictly serializable, and restart if they have read an old value. Throws connection_error if the engine does
    /// not report its commits in order.
    std::chrono::milliseconds staleness{0};
    /// TLS files, for groups only. If set, every connection uses TLS, and members may be at addresses other than
    /// loopback. A program's certificate is made for the DNS name `program.<group_name>`. The node reads changed files
    /// before the next connection.
    tls_options tls{};
    std::string group_name = "tutti";  ///< the group name in certificates; must equal the members' setting
};

/// The features of an engine.
struct engine_capabilities {
    std::string name;             ///< the engine's name in messages
    bool old_versions = false;    ///< a read-only block keeps the state with which it began
    bool batches = false;         ///< several commits can share one request
    bool caches = false;          ///< `engine_options::staleness` may be other than 0
    bool durable = false;         ///< with its present setup, commits survive kill -9 of the engine's processes
    std::size_t max_objects = 0;  ///< the maximum number of objects that one block may use
    std::size_t max_bytes = 0;    ///< the maximum number of bytes that one block may write
};

/// Returns the engines that this library supports, such as "memory" and "etcd".
[[nodiscard]] TUTTI_EXPORT std::vector<std::string> engines();

}  // namespace tutti::cluster
