// Simulated clusters whose clients run the bodies of a test, each on a fiber of its own, in virtual time.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/simulation/simulated_cluster.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::testing {

class scripted_cluster final : private simulation::simulated_cluster {
public:
    class client;
    using body = std::function<void(client&)>;

    explicit scripted_cluster(node_number nodes, std::uint64_t seed = 1, object_placement how = object_placement::home)
        : simulated_cluster{nodes, how, seed, {}} {}

    /// Adds a thread of node `at`. The thread begins immediately.
    void add(node_number at, body what);
    /// Runs until all clients are idle or until time `until`. Returns false if a client still had work.
    bool run(std::uint64_t until);
    [[nodiscard]] std::uint64_t now() noexcept { return network().now(); }
    [[nodiscard]] object_directory::statistics count(node_number at) {
        return simulated_cluster::at(at).objects.count();
    }
    [[nodiscard]] std::size_t reserved(node_number at) { return simulated_cluster::at(at).reserved_objects.held(); }

private:
    void on_change(node_number, const object_id&) override {}
    void fail(const char* what) override { throw std::logic_error{what}; }

    interleaving::fiber main_;
    std::vector<std::unique_ptr<client>> clients_;
};

/// The environment of a body: the transaction and the hold of one thread.
class scripted_cluster::client final : public simulation::simulated_thread {
public:
    client(scripted_cluster& in, node_number at, std::uint16_t slot, body what)
        : simulated_thread{in, at},
          work{in.simulated_cluster::at(at), *this, slot},
          hold{in.simulated_cluster::at(at), *this, slot},
          scripted_{in},
          what_{std::move(what)},
          fiber_{std::size_t{128} * 1024} {
        fiber_.prepare(&start, this);
    }
    void resume() override { interleaving::fiber::change(scripted_.main_, fiber_); }
    void pause(unsigned turn) override { sleep(1 + scripted_.network().random_below(8 * turn + 8)); }
    void sleep(std::uint64_t time) {
        bool over = false;
        scripted_.network().after(time, [&] {
            over = true;
            resume();
        });
        while (!over) suspend();
    }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return scripted_.network().random_below(n); }
    [[nodiscard]] std::uint64_t now() { return scripted_.now(); }
    [[nodiscard]] bool done() const noexcept { return done_; }

    distributed_transaction work;
    named_lock_client hold;

private:
    static void start(void* self) {
        client& c = *static_cast<client*>(self);
        c.what_(c);
        c.done_ = true;
        interleaving::fiber::leave_for(c.fiber_, c.scripted_.main_);
    }
    void suspend() override { interleaving::fiber::change(fiber_, scripted_.main_); }

    scripted_cluster& scripted_;
    const body what_;
    interleaving::fiber fiber_;
    bool done_ = false;
};

inline void scripted_cluster::add(node_number at, body what) {
    const auto slot = static_cast<std::uint16_t>(clients_.size());
    clients_.push_back(std::make_unique<client>(*this, at, slot, std::move(what)));
    client* const fresh = clients_.back().get();
    network().after(1, [fresh] { fresh->resume(); });
}

inline bool scripted_cluster::run(std::uint64_t until) {
    while (now() < until && network().step()) {}
    for (const auto& c : clients_) {
        if (!c->done()) return false;
    }
    return true;
}

}  // namespace tutti::cluster::testing
