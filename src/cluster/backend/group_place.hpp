// Where a member of a group is: host:port. The host is a number of IPv4, a number of IPv6 in brackets, or a name that
// is looked up before each connection, so that it may mean another machine tomorrow.
//
// In the clear nothing goes beyond loopback, whatever a name means: of its numbers only those of loopback are used.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace tutti::cluster::backend::group {

/// A number and a port as the socket calls want them.
struct socket_place {
    sockaddr_storage at{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&at); }
};

/// Splits an address that others may reach a member by, of loopback unless what goes there is `encrypted`. Of a name
/// only the spelling is looked at. The brackets of IPv6 are left out in `host`. False for what is no such address.
[[nodiscard]] bool parse_member_address(const std::string& text, std::string& host, int& port, bool encrypted);
/// The same; throws refusal, which says what to do.
void check_member_address(const std::string& text, bool encrypted);
/// The same for an address to listen on, which may mean all numbers of this machine (0.0.0.0, [::]) if `encrypted`.
void check_listening_address(const std::string& text, bool encrypted);
/// The address in one spelling: localhost is 127.0.0.1. REQUIRES: parse_member_address takes it.
[[nodiscard]] std::string plain_address(const std::string& text);
/// Whether the host of an address is a number, and not a name.
[[nodiscard]] bool is_number(const std::string& address);

/// The place of an address whose host is a number; false for a name, and for what is no address to connect to or to
/// listen on.
[[nodiscard]] bool place_of_number(const std::string& address, socket_place& to);
/// Whether bytes that go there stay on this machine.
[[nodiscard]] bool is_loopback(const sockaddr& at) noexcept;
/// All places of an address that this side may connect to or listen on. A name is looked up, which may take as long as
/// the system's resolver waits. Empty: `why` says what is in the way.
[[nodiscard]] std::vector<socket_place> places_of(const std::string& address, bool encrypted, std::string& why);

}  // namespace tutti::cluster::backend::group
