/// @file
/// Objects in an engine: a group of our own members, etcd, PostgreSQL, Redis, or the memory of this process.
///
///     tutti::cluster::node here{tutti::cluster::engine_options{.address = "etcd://127.0.0.1:2379"}};
///
/// Everything else stays as it is: `ref<T>`, `atomically`, local variables beside objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/cluster/tls.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

struct engine_options {
    /// `memory:` (of this node), `memory:name` (shared by the nodes of this process that say so),
    /// `tutti://host:port,host:port` (members of a group: docs/cluster-replication.md; with semicolons between them, of
    /// several groups that the objects are spread over), `etcd://host:port,host:port`, `postgres://…` as libpq takes
    /// it, `redis://host:port` or `redis:/path/of/socket`.
    /// Only loopback addresses and Unix sockets are taken where nothing is encrypted; groups speak TLS (`tls`).
    std::string address = "memory:";
    /// In front of every key, so that clusters share an engine: letters, digits, `-` and `_`.
    std::string prefix = "tutti";
    std::chrono::milliseconds patience{5000};  ///< an engine that has not answered for so long is lost to the block
    /// An irrevocable block holds the objects that it has opened until it ends. If its program is killed, those who
    /// want to write them wait for so long; a block that takes longer, while others wait, loses them (node_lost).
    std::chrono::milliseconds lease{10000};
    /// Commits, and first reads, of threads that meet go to the engine in one request, where it has such: groups, etcd.
    bool batch = true;
    /// Not 0: the node keeps copies of what it reads, up to 64 MiB, and a block that writes no object may see a state
    /// of the objects that was current so long before it began, or later. What this process has committed or seen is
    /// never missing from it. Blocks that write objects are strictly serializable as ever, and start over if what they
    /// have read was old. Refused (connection_error) where the engine does not tell in order what it commits.
    std::chrono::milliseconds staleness{0};
    /// Of groups alone: every connection goes under TLS, and members may be beyond loopback. The certificate of a
    /// program is made for the DNS name `program.<group_name>`. Files that change are read before the next connection.
    tls_options tls{};
    std::string group_name = "tutti";  ///< of certificates, as the members have it
};

/// What an engine can do.
struct engine_capabilities {
    std::string name;              ///< as messages say it
    bool old_versions = false;     ///< blocks that only read keep the state that they began with
    bool batches = false;          ///< several commits go in one request
    bool caches = false;           ///< `engine_options::staleness` may be other than 0
    bool durable = false;          ///< what is committed survives kill -9 of the engine's processes, as it is set up
    std::size_t most_objects = 0;  ///< that one block may touch
    std::size_t most_bytes = 0;    ///< that one block may write
};

/// The engines that this library was built with: "memory", "etcd", …
[[nodiscard]] TUTTI_EXPORT std::vector<std::string> engines();

}  // namespace tutti::cluster
