// A separate network for this run. The launcher's namespace has a bridge. Each node has its own namespace with a cable
// to the bridge, as if the nodes were machines. The commands of iproute2 change the network. The network ends with the
// processes in it.
//
// Thread safety: not thread-safe. Only the calling thread moves between the namespaces.
#pragma once

#include <string>
#include <vector>

namespace cluster_app {

class network_namespaces {
public:
    /// Moves the calling process from the machine's network to the bridge's. If the process lacks the permission, it
    /// first becomes root in its own user namespace. REQUIRES: it has one thread. Throws std::runtime_error if the
    /// system permits neither.
    network_namespaces();
    ~network_namespaces();
    network_namespaces(const network_namespaces&) = delete;
    network_namespaces& operator=(const network_namespaces&) = delete;

    /// Makes the namespace of the next node. Processes that `start()` starts are in this namespace.
    template <class F>
    auto in_next(F&& start) {
        add_namespace();
        const struct back {
            network_namespaces& of;
            ~back() { of.enter_bridge(); }
        } at_end{*this};
        return start();
    }
    /// Disconnects or connects that node's cable at the bridge.
    void set_connected(unsigned node, bool in);

    /// Returns the address where that node listens.
    [[nodiscard]] static std::string address(unsigned node);

private:
    void add_namespace();
    void enter_bridge() noexcept;

    int bridge_ = -1;  // namespace of the bridge
    unsigned nodes_ = 0;
};

}  // namespace cluster_app
