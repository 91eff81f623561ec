// A network of this run's own: the launcher's namespace has a bridge, and each node one of its own with a cable to it,
// as if they were machines. The commands of iproute2 do what is done to them. All of it goes with the processes that
// live there.
//
// Thread safety: none. The calling thread is what moves between the namespaces.
#pragma once

#include <string>
#include <vector>

namespace cluster_app {

class own_network {
public:
    /// The calling process leaves the network of the machine for the bridge's. A process that may not do that makes
    /// itself root in a user namespace of its own first. REQUIRES: it has one thread. Throws std::runtime_error where
    /// the system permits neither.
    own_network();
    ~own_network();
    own_network(const own_network&) = delete;
    own_network& operator=(const own_network&) = delete;

    /// Makes the namespace of the next node; what `start()` starts lives there.
    template <class F>
    auto in_next(F&& start) {
        make_next();
        const struct back {
            own_network& of;
            ~back() { of.enter_hub(); }
        } at_end{*this};
        return start();
    }
    /// The cable of that node is unplugged, or plugged in again, at the bridge's end.
    void plug(unsigned node, bool in);

    /// Where that node listens.
    [[nodiscard]] static std::string address(unsigned node);

private:
    void make_next();
    void enter_hub() noexcept;

    int hub_ = -1;  // the bridge's namespace
    unsigned nodes_ = 0;
};

}  // namespace cluster_app
