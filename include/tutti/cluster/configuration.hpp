/// @file
/// What a file and the environment say of a node.
///
///     tutti::cluster::node here{tutti::cluster::configuration::from_file("/etc/tutti/nodes.toml")};
///
/// docs/cluster-operations.md, "The configuration file", lists the keys and the variables. A variable goes before the
/// file, and what a program sets afterwards goes before both.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tutti/cluster/engine.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

/// An entry that means nothing, or is missing. The message names the file and the line, or the variable, the reason,
/// and what to write instead.
class TUTTI_EXPORT configuration_error : public connection_error {
public:
    using connection_error::connection_error;
    ~configuration_error() override;
};

/// What a program that does nothing but hold a node says of itself.
struct log_options {
    std::string level = "info";  ///< info, warning or error: nothing below it is said
    bool json = false;           ///< lines of JSON
};

struct TUTTI_EXPORT configuration {
    node_options node{};                     ///< where nodes hold the objects
    std::optional<engine_options> engine{};  ///< where an engine does; then of `node` nothing is used
    log_options log{};

    /// Throws configuration_error.
    [[nodiscard]] static configuration from_file(const std::string& file);
    /// The file that TUTTI_CLUSTER_CONFIG names, if there is one, and what other variables say. Throws
    /// configuration_error.
    [[nodiscard]] static configuration from_environment();
    /// The same of a text, without the environment. `name` is what messages call it.
    [[nodiscard]] static configuration from_text(std::string_view text, const std::string& name);

    /// Throws connection_error where a node could not be made of it whatever the others do: addresses, certificates,
    /// engines that this library was built without. Listens nowhere and connects to nobody.
    void check() const;
};

}  // namespace tutti::cluster
