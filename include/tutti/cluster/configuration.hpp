/// @file
/// The configuration of a node, from a file and the environment.
///
///     tutti::cluster::node here{tutti::cluster::configuration::from_file("/etc/tutti/nodes.toml")};
///
/// docs/cluster-operations.md, "The configuration file", lists the keys and the variables. A variable overrides the
/// file, and a value that the program sets afterwards overrides both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tutti/cluster/engine.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

/// An invalid or missing configuration entry. The message names the file and the line, or the variable. The message
/// also gives the reason and an example of a correct entry.
class TUTTI_EXPORT configuration_error : public connection_error {
public:
    using connection_error::connection_error;
    ~configuration_error() override;
};

/// Log settings of a program whose only purpose is to run a node.
struct log_options {
    std::string level = "info";  ///< info, warning or error: messages below this level are dropped
    bool json = false;           ///< true: log messages are JSON lines
};

struct TUTTI_EXPORT configuration {
    node_options node{};                     ///< the settings if nodes hold the objects
    std::optional<engine_options> engine{};  ///< the settings if an engine holds the objects; `node` is then unused
    log_options log{};

    /// Reads the file. Throws configuration_error.
    [[nodiscard]] static configuration from_file(const std::string& file);
    /// Reads the environment variables, and the file that TUTTI_CLUSTER_CONFIG names if this variable is set. Throws
    /// configuration_error.
    [[nodiscard]] static configuration from_environment();
    /// Reads `text` and ignores the environment. Error messages use `name` as the name of the text.
    [[nodiscard]] static configuration from_text(std::string_view text, const std::string& name);

    /// Throws connection_error if no node can start with this configuration, whatever the other nodes do. Checks
    /// addresses, certificates, and whether this library supports the engine. Neither listens nor connects.
    void check() const;
};

}  // namespace tutti::cluster
