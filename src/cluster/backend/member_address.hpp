// The address of a member of a group: host:port. The host is an IPv4 address, an IPv6 address in brackets, or a name. A
// name is resolved before each connection, so it may refer to another host later.
//
// Without encryption, traffic never leaves this machine: only the loopback addresses of a name are used.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace tutti::cluster::backend::group {

/// A numeric address and a port, in the form that socket calls use.
struct socket_address {
    sockaddr_storage at{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&at); }
};

/// Splits an address by which others may reach a member. The host must be a loopback address unless the traffic is
/// `encrypted`. Only the spelling of a name is checked. `host` is IPv6 without brackets. Returns false if the address
/// is invalid.
[[nodiscard]] bool parse_member_address(const std::string& text, std::string& host, int& port, bool encrypted);
/// Checks an address as parse_member_address does. Throws engine_error if it is invalid; the message says what to do.
void check_member_address(const std::string& text, bool encrypted);
/// Checks an address to listen on. If `encrypted`, the address may stand for all addresses of this machine (0.0.0.0,
/// [::]).
void check_listening_address(const std::string& text, bool encrypted);
/// Returns the address in its standard spelling: localhost becomes 127.0.0.1.
/// REQUIRES: parse_member_address accepts the address.
[[nodiscard]] std::string normalized_address(const std::string& text);
/// Returns true if the host of an address is a number, and false if it is a name.
[[nodiscard]] bool is_numeric(const std::string& address);

/// Converts an address with a numeric host to a socket address, and stores it in `to`. Returns false for a name, and
/// for an invalid address.
[[nodiscard]] bool parse_numeric_address(const std::string& address, socket_address& to);
/// Returns true if traffic to the address stays on this machine.
[[nodiscard]] bool is_loopback(const sockaddr& at) noexcept;
/// Returns all socket addresses of an address that this side may connect to or listen on. If the host is a name, blocks
/// until the system's resolver returns. If the result is empty, sets `reason`.
[[nodiscard]] std::vector<socket_address> resolve_addresses(const std::string& address, bool encrypted,
                                                            std::string& reason);

}  // namespace tutti::cluster::backend::group
