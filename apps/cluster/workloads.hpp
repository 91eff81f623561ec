// What runs on the cluster: each workload fills it, runs one transaction at a time, and knows its invariant.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tutti/cluster/ref.hpp>

#include "cluster/options.hpp"

namespace cluster_app {

/// splitmix64 (Vigna).
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_{seed} {}
    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }

private:
    std::uint64_t state_;
};

/// Which part of the objects a process fills.
struct share {
    explicit share(const program_options& how) noexcept : self{static_cast<unsigned>(how.self)}, of{how.nodes} {}
    unsigned self, of;
};

class workload {
public:
    virtual ~workload() = default;
    /// This process's share of the objects.
    virtual void fill() = 0;
    /// One transaction. Any thread.
    virtual void run_one(random_source& dice) = 0;
    /// What is wrong, or nothing. REQUIRES: nothing else runs.
    virtual std::string check() = 0;
};

std::vector<std::string> workload_names();
std::unique_ptr<workload> make_workload(const program_options& how, tutti::cluster::node& here);

}  // namespace cluster_app
