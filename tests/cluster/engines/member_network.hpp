// A proxy for each direction between two of three members.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "cluster/engines/proxy.hpp"
#include "cluster/engines/servers.hpp"

namespace tutti::cluster::testing {

/// Each member's messages to each other member go through a proxy: C-Raft's connections carry messages in one
/// direction.
class member_network {
public:
    static constexpr std::size_t size = 3;
    member_network(group_server& g, std::uint64_t seed) {
        for (std::size_t from = 0; from < size; ++from) {
            for (std::size_t to = 0; to < size; ++to) {
                if (from == to) continue;
                auto made = std::make_unique<proxy>(g.places()[to], ++seed);
                g.route(from, to, made->place());
                between_[{from, to}] = std::move(made);
            }
        }
    }
    proxy& link(std::size_t from, std::size_t to) { return *between_.at({from, to}); }
    void hold_from(std::size_t from, bool on) {
        for (auto& [pair, by] : between_) {
            if (pair.first == from) by->hold(on);
        }
    }
    void hold_to(std::size_t to, bool on) {
        for (auto& [pair, by] : between_) {
            if (pair.second == to) by->hold(on);
        }
    }
    /// Returns the bytes from the others to that member, since the beginning.
    [[nodiscard]] std::uint64_t carried_to(std::size_t to) const {
        std::uint64_t all = 0;
        for (const auto& [pair, by] : between_) {
            if (pair.second == to) all += by->carried();
        }
        return all;
    }
    template <class F>
    void each(F&& what) {
        for (auto& [pair, by] : between_) what(*by);
    }

private:
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<proxy>> between_;
};

}  // namespace tutti::cluster::testing
