// The node of `tutti serve --cluster`.
#pragma once

#include <memory>
#include <string>

#include "operator_log.hpp"
#include "tutti/server/cluster.hpp"

namespace tutti::tools {

class served_cluster {
public:
    /// Returns when all nodes are connected, or when the engine replies. While the object lives, it reports lost nodes.
    /// With `only_checks`, it contacts no other process, and procedures see a cluster that consists only of this
    /// process.
    /// @throws cli::command_line_error for an invalid configuration; the exceptions of a node's constructor
    served_cluster(const std::string& file, bool only_checks, const operator_log& log);
    ~served_cluster();
    served_cluster(const served_cluster&) = delete;
    served_cluster& operator=(const served_cluster&) = delete;

    [[nodiscard]] server::cluster_access& access() noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
    server::cluster_access* access_ = nullptr;
};

}  // namespace tutti::tools
