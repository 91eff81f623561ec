// Those who ask a node what it does, and belong to no cluster: a few connections, each of which may say `status` or
// `timeline`, and is told, one question after the other.
//
// An observer cannot touch what nodes agree on: of its headers nothing is looked at but what makes them a question, not
// its clock either. One that says something else, or nothing for as long as nodes wait for each other, is cut off.
//
// Thread safety: `admit`, and what it arranges, on the thread that runs the sockets; `describe` on any.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "observe/counter.hpp"
#include "wire/connection.hpp"
#include "wire/observed.hpp"

namespace tutti::wire {

class observers {
public:
    observers(node_number self, std::chrono::milliseconds patience, observed& whom) noexcept
        : self_{self}, patience_{patience}, whom_{whom} {}
    observers(const observers&) = delete;
    observers& operator=(const observers&) = delete;

    /// One that has said hello. REQUIRES: this, and who is observed, outlive the context that runs its socket.
    void admit(std::shared_ptr<connection> c);
    void describe(cluster::node_facts& to) const noexcept;

private:
    struct visit;
    void listen(const std::shared_ptr<visit>& v);
    void hear_order(const std::shared_ptr<visit>& v, std::uint64_t call);
    [[nodiscard]] timeline_told carry_out(visit& v, timeline_order what);
    template <class Told>
    void tell(const std::shared_ptr<visit>& v, std::uint64_t call, kind what, const Told& told, bool go_on);

    const node_number self_;
    const std::chrono::milliseconds patience_;
    observed& whom_;
    const visit* records_ = nullptr;  // for whom the node records; of the thread that runs the sockets
    std::atomic<std::uint32_t> here_{0};
    observe::counter refused_, cut_off_;
};

}  // namespace tutti::wire
