// A separate network for this run. The launcher's namespace has a bridge. Each node has its own namespace with a cable
// to the bridge, as if the nodes were machines. The commands of iproute2 change the network. The network ends with the
// processes in it.
//
// Thread safety: not thread-safe. Only the calling thread moves between the namespaces.
#pragma once

#include <string>
#include <vector>

namespace cluster_app {

class own_network {
public:
    /// Moves the calling process from the machine's network to the bridge's. If the process lacks the permission, it
    /// first becomes root in its own user namespace. REQUIRES: it has one thread. Throws std::runtime_error if the
    /// system permits neither.
    own_network();
    ~own_network();
    own_network(const own_network&) = delete;
    own_network& operator=(const own_network&) = delete;

    /// Makes the namespace of the next node. Processes that `start()` starts are in this namespace.
    template <class F>
    auto in_next(F&& start) {
        make_next();
        const struct back {
            own_network& of;
            ~back() { of.enter_hub(); }
        } at_end{*this};
        return start();
    }
    /// Disconnects or connects that node's cable at the bridge.
    void plug(unsigned node, bool in);

    /// Returns the address where that node listens.
    [[nodiscard]] static std::string address(unsigned node);

private:
    void make_next();
    void enter_hub() noexcept;

    int hub_ = -1;  // namespace of the bridge
    unsigned nodes_ = 0;
};

}  // namespace cluster_app
