// Opens the engine that an address names.
#pragma once

#include "cluster/backend/backend.hpp"
#include "cluster/backend/group_credentials.hpp"

namespace tutti::cluster::backend {

struct settings {
    std::string prefix;
    std::chrono::milliseconds request_timeout{5000};
    bool batch = false;  ///< combine concurrent requests into one (batching_engine.hpp), if the engine supports this
    group::tls_settings tls{};  ///< only for connections to groups
};

/// Opens the engine. Throws engine_error if the address is invalid, this library was built without the engine, or the
/// engine does not answer. Also throws if the engine is configured in a way that would lose committed data.
[[nodiscard]] std::unique_ptr<engine> open_engine(const std::string& address, const settings& how);
/// Checks the address without connecting to the engine. Throws engine_error if the key prefix is invalid, or if the
/// address names an engine that this library was not built with.
void check_address(const std::string& address, const settings& how);
/// Returns the names of the engines that this library was built with.
[[nodiscard]] std::vector<std::string> known_engines();

/// Throws engine_error, with `named` in its message, if `host` is neither a loopback address nor the name of a loopback
/// address.
void require_loopback(const std::string& host, const std::string& named);

/// An address of the form host:port or /path. parse_server_address throws engine_error for a host beyond loopback.
struct server_address {
    std::string host;  ///< or the path of a Unix socket
    int port = 0;      ///< 0: a Unix socket
};
[[nodiscard]] server_address parse_server_address(std::string_view text, int usual_port);

}  // namespace tutti::cluster::backend
