#include "wire/address.hpp"

#include <charconv>

#include "tutti/cluster/id.hpp"

namespace tutti::wire {

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
        throw refusal{"'" + given + "' is no address; give host:port or unix:/path"};
    std::string host{text.substr(0, colon)};
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    asio::error_code failed;
    const asio::ip::address ip = asio::ip::make_address(host, failed);
    if (failed) throw refusal{"'" + given + "': give the host as a number, such as 127.0.0.1"};
    return {ip, static_cast<std::uint16_t>(port)};
}

std::uint64_t cluster_number(const std::string& name, const std::vector<std::string>& addresses) {
    std::string all = name;
    for (const std::string& a : addresses) all += '\n' + a;
    return cluster::object_id{all}.low;
}

address parse_address(std::string_view text) {
    address a;
    a.text = text;
    if (text.starts_with("unix:")) {
        a.path = text.substr(5);
        // sun_path of sockaddr_un, with its end.
        if (a.path.empty() || a.path.size() > 107)
            throw refusal{"'" + a.text + "': give unix: and a path of 1 to 107 characters"};
        a.endpoint = asio::local::stream_protocol::endpoint{a.path};
        return a;
    }
    const asio::ip::tcp::endpoint tcp = parse_tcp(text);
    if (!tcp.address().is_loopback()) {
        throw refusal{"'" + a.text +
                      "' is beyond loopback, and connections are not encrypted yet: give an address of 127.0.0.0/8, "
                      "[::1] or unix:/path, and bring it to other machines by a tunnel that encrypts"};
    }
    a.endpoint = tcp;
    return a;
}

}  // namespace tutti::wire
