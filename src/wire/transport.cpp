#include "wire/transport.hpp"

#include "wire/socket_transport.hpp"
#if defined(TUTTI_CLUSTER_ZEROMQ)
#include "wire/zeromq_transport.hpp"
#endif

namespace tutti::wire {

std::vector<address> addresses_of(const transport_options& how) {
    std::vector<address> all;
    for (const std::string& text : how.addresses) {
        const bool zeromq = is_of_zeromq(text);
        all.push_back(parse_address(text, zeromq ? how.curve.are_set() : how.tls.are_set()));
        if (zeromq != all.front().zeromq) {
            throw wire_error{"'" + how.addresses.front() + "' and '" + text +
                             "' are of two kinds: write zmq: in front of the addresses of all nodes, or of none"};
        }
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            if (all[i].endpoint == all.back().endpoint)
                throw wire_error{"two nodes have the address " + text + ": give each its own"};
        }
    }
    if (all.empty()) return all;
#if !defined(TUTTI_CLUSTER_ZEROMQ)
    if (all.front().zeromq) {
        throw wire_error{
            "'" + all.front().text +
            "' is an address of ZeroMQ, and this library was built without it: build it where libzmq3-dev is "
            "installed, or leave zmq: out of the addresses of all nodes"};
    }
#endif
    if (all.front().zeromq && how.tls.are_set()) {
        throw wire_error{
            "addresses of ZeroMQ are encrypted by keys, not by certificates: give node_options::curve, or "
            "TUTTI_CLUSTER_CURVE_KEY and TUTTI_CLUSTER_CURVE_NODES, instead of the certificate, its key and the "
            "authority"};
    }
    if (!all.front().zeromq && how.curve.are_set()) {
        throw wire_error{
            "keys of ZeroMQ (node_options::curve, TUTTI_CLUSTER_CURVE_KEY, TUTTI_CLUSTER_CURVE_NODES) encrypt "
            "only addresses of ZeroMQ: write zmq: in front of the addresses of all nodes, or give a certificate, its "
            "key and the authority instead"};
    }
    return all;
}

std::unique_ptr<transport> make_transport(const transport_options& how, transport::handler& to) {
    std::vector<address> all = addresses_of(how);
#if defined(TUTTI_CLUSTER_ZEROMQ)
    if (all.front().zeromq) return std::make_unique<zeromq_transport>(how, std::move(all), to);
#endif
    return std::make_unique<socket_transport>(how, std::move(all), to);
}

}  // namespace tutti::wire
