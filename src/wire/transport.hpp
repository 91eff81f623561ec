// What carries frames between the nodes of a cluster: a port, and the choice of who fills it, at run time, by the
// addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/address.hpp"
#include "wire/curve_keys.hpp"
#include "wire/observed.hpp"
#include "wire/tls.hpp"

namespace tutti::wire {

struct transport_options {
    node_number self = 0;
    std::vector<std::string> addresses;
    std::uint64_t cluster = 0;  ///< of the hello
    std::string cluster_name;   ///< of the certificates
    tls_files tls;              ///< without them, addresses beyond loopback are refused
    curve_files curve;          ///< the same, of addresses of ZeroMQ
    std::chrono::milliseconds connect_within{10000};
    std::size_t largest = 16u << 20;
    /// A node that has sent nothing for so long is gone: stopped, or cut off. Its process may be there, and finds its
    /// connections ended when it goes on.
    std::chrono::milliseconds silence{5000};
    /// A node that lets so much lie that was sent to it, and goes on asking, is cut off.
    std::size_t most_unsent = 256u << 20;
    /// A caller has so long to say, and where it is encrypted to show, who it is.
    std::chrono::milliseconds greet_within{5000};
    /// So many may be about to.
    std::size_t most_greeting = 64;
};

/// The addresses of all nodes, each its own, all of one kind. Throws refusal, also where they, and the files that
/// encrypt, do not go together.
[[nodiscard]] std::vector<address> addresses_of(const transport_options& how);

class transport {
public:
    /// All of it runs on the reading thread, and must not block.
    struct handler : observed {
        /// A frame has come. False: its bytes make no sense, and the connection ends.
        virtual bool receive(const header& h, std::string_view body) = 0;
        /// A connection has ended, once for each process of a node. Not during the destructor.
        virtual void lose(node_number node) noexcept = 0;
        /// A node is there whose cluster has begun, and this one is about to come back to it: what its clock says.
        virtual void meet(std::uint64_t clock) noexcept = 0;
        [[nodiscard]] virtual std::uint64_t clock() const noexcept = 0;
        /// Whether the process of that node that has come last is let in: until then it is told of its return alone.
        /// Asked by any thread that sends; must not send.
        [[nodiscard]] virtual bool has_let_in(node_number node) const noexcept = 0;
        /// Nothing was sent to that node for a beat: sends it something.
        virtual void beat(node_number node) = 0;
    };

    transport() = default;
    virtual ~transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    /// Connects; returns when all are connected, and from then on (before it returns, too) calls the handler. Throws
    /// refusal, which says who is missing. REQUIRES: the handler can be called, also if it sends.
    virtual void join() = 0;
    /// False if that node is gone, or not let in. Never blocks: what is not taken now is kept. From the handler, the
    /// frame waits for the end of the read that it answers. What two sends of one thread, or two that are ordered
    /// otherwise, say to one node comes in that order.
    /// Throws std::bad_alloc; either the whole frame goes out then, or nothing of it.
    virtual bool send(node_number to, header h, std::string_view body) = 0;
    /// Whether any other node had begun without this process when it came, so that it has to be let in; and whether
    /// that one had, and is connected.
    [[nodiscard]] virtual bool others_have_begun() const = 0;
    [[nodiscard]] virtual bool has_begun(node_number n) const = 0;
    /// It has been let in.
    virtual void begin() = 0;
    /// Which process of that node this one is connected with; 0: none.
    [[nodiscard]] virtual std::uint64_t process_of(node_number n) const = 0;
    /// Ends the connection: that node counts as gone, here at once and there when it looks.
    virtual void give_up(node_number to) noexcept = 0;
    /// Traffic, peers and observers, of the facts of this node.
    virtual void describe(cluster::node_facts& to) const = 0;
};

/// Listens, over what the addresses name. Throws refusal. REQUIRES: there are two nodes at least.
[[nodiscard]] std::unique_ptr<transport> make_transport(const transport_options& how, transport::handler& to);

}  // namespace tutti::wire
