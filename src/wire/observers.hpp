// Those who ask a node what it does, and belong to no cluster: a few connections, each of which may say `status`, and
// is told, one question after the other.
//
// An observer cannot touch what nodes agree on: of its headers nothing is looked at but what makes them a question, not
// its clock either. One that says something else, or nothing for as long as nodes wait for each other, is cut off.
//
// Thread safety: `admit`, and what it arranges, on the thread that runs the sockets; `describe` on any.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "observe/counter.hpp"
#include "wire/address.hpp"
#include "wire/message.hpp"

namespace tutti::wire {

class observers {
public:
    /// `facts` runs on the thread that runs the sockets, and must not block.
    observers(node_number self, std::chrono::milliseconds patience, std::function<cluster::node_facts()> facts)
        : self_{self}, patience_{patience}, facts_{std::move(facts)} {}
    observers(const observers&) = delete;
    observers& operator=(const observers&) = delete;

    /// One that has said hello. REQUIRES: this outlives the context that runs its socket.
    void admit(std::shared_ptr<stream::socket> s);
    void describe(cluster::node_facts& to) const noexcept;

private:
    struct visit;
    void listen(const std::shared_ptr<visit>& v);
    void tell(const std::shared_ptr<visit>& v, std::uint64_t call, status_told what, bool go_on);

    const node_number self_;
    const std::chrono::milliseconds patience_;
    const std::function<cluster::node_facts()> facts_;
    std::atomic<std::uint32_t> here_{0};
    observe::counter refused_, cut_off_;
};

}  // namespace tutti::wire
