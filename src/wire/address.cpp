#include "wire/address.hpp"

#include <charconv>

#include "tutti/cluster/id.hpp"

namespace tutti::wire {
namespace {

constexpr std::string_view zeromq_prefix = "zmq:";

/// The advice in error messages: how the user can encrypt traffic to an address beyond loopback.
constexpr std::string_view by_certificates =
    "give a certificate, its key and the authority (node_options::tls, or TUTTI_CLUSTER_CERTIFICATE, "
    "TUTTI_CLUSTER_KEY and TUTTI_CLUSTER_AUTHORITY), or an address of 127.0.0.0/8, [::1] or unix:/path";
constexpr std::string_view by_keys =
    "give a private key and the public keys of all nodes (node_options::curve, or TUTTI_CLUSTER_CURVE_KEY and "
    "TUTTI_CLUSTER_CURVE_NODES), or an address of 127.0.0.0/8 or [::1]";

}  // namespace

asio::ip::tcp::endpoint parse_tcp(std::string_view text, bool any_port) {
    const std::string given{text};
    const std::size_t colon = text.rfind(':');
    unsigned port = 65536;
    if (colon != std::string_view::npos) {
        const std::string_view digits = text.substr(colon + 1);
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
        if (failed != std::errc{} || end != digits.data() + digits.size()) port = 65536;
    }
    if ((port == 0 && !any_port) || port > 65535)
        throw wire_error{"'" + given + "' is not an address: give host:port or unix:/path"};
    std::string host{text.substr(0, colon)};
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    asio::error_code failed;
    const asio::ip::address ip = asio::ip::make_address(host, failed);
    if (failed) throw wire_error{"'" + given + "': give the host as a number, such as 127.0.0.1"};
    return {ip, static_cast<std::uint16_t>(port)};
}

std::uint64_t cluster_number(const std::string& name, const std::vector<std::string>& addresses) {
    std::string all = name;
    for (const std::string& a : addresses) all += '\n' + a;
    return cluster::object_id{all}.low;
}

bool is_of_zeromq(std::string_view text) noexcept { return text.starts_with(zeromq_prefix); }

address parse_address(std::string_view text, bool encrypted) {
    address a;
    a.text = text;
    a.zeromq = is_of_zeromq(text);
    if (a.zeromq) text.remove_prefix(zeromq_prefix.size());
    if (!a.zeromq && text.starts_with("unix:")) {
        a.path = text.substr(5);
        // The limit is the size of sockaddr_un::sun_path, which includes the terminator.
        if (a.path.empty() || a.path.size() > 107)
            throw wire_error{"'" + a.text + "': give unix: and a path of 1 to 107 characters"};
        a.endpoint = asio::local::stream_protocol::endpoint{a.path};
        return a;
    }
    const asio::ip::tcp::endpoint tcp = parse_tcp(text);
    if (!tcp.address().is_loopback() && !encrypted) {
        throw wire_error{"'" + a.text + "' is beyond loopback, and its traffic would not be encrypted: " +
                         std::string{a.zeromq ? by_keys : by_certificates}};
    }
    a.endpoint = tcp;
    return a;
}

}  // namespace tutti::wire
