// Which engine an address means.
#pragma once

#include "cluster/backend/backend.hpp"
#include "cluster/backend/group_credentials.hpp"

namespace tutti::cluster::backend {

struct settings {
    std::string prefix;
    std::chrono::milliseconds patience{5000};
    bool batch = false;  ///< requests of threads that meet go together (batching.hpp), where the engine takes several
    group::tls_settings tls{};  ///< of groups alone: other engines are spoken to in the clear
};

/// Throws refusal: for an address that means nothing, an engine that this library was built without, one that does not
/// answer, or one that is set up in a way that would lose what is committed.
[[nodiscard]] std::unique_ptr<engine> open_engine(const std::string& address, const settings& how);
/// Whether there may be such an engine, without asking it: throws refusal for a prefix that is none, and where the name
/// in front of the address is no engine's that this library was built with.
void check_address(const std::string& address, const settings& how);
/// The names of those that it was built with.
[[nodiscard]] std::vector<std::string> known_engines();

/// Throws refusal, which says `named`, if that is no address of this machine's loopback, nor its name.
void require_loopback(const std::string& host, const std::string& named);

/// host:port or /path; throws refusal for an address beyond loopback.
struct place {
    std::string host;  ///< or the path of a Unix socket
    int port = 0;      ///< 0: a Unix socket
};
[[nodiscard]] place parse_place(std::string_view text, int usual_port);

}  // namespace tutti::cluster::backend
