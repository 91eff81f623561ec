// A set of keys in a structure of objects, with add, remove and find. HyflowCPP's micro-benchmarks, section 6.2.1, are
// such sets, half filled.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/workload.hpp"

namespace cluster_app {

/// Every node counts what its commits have added and removed, so that a lost update is found, too.
class key_set : public workload {
public:
    void fill() override;
    void run_one(random_source& dice) override;
    void publish_counts() override;
    std::string check() override;

    /// Returns false if the key is already in the set. `draw` is random, but the same in every attempt.
    virtual bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) = 0;
    /// Returns false if the key is not in the set.
    virtual bool remove(tutti::tx& t, std::uint64_t key) = 0;
    virtual bool contains(tutti::tx& t, std::uint64_t key) = 0;
    /// Collects all keys, in any order. Returns the structure's error, or nothing. Stops after more than `max`
    /// keys.
    virtual std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t max) = 0;

protected:
    key_set(std::uint64_t keys, const extent& size, tutti::cluster::node& here)
        : here_{here}, keys_{keys}, reads_{size.reads}, inner_{size.inner}, nesting_{size.nesting} {}

    /// Creates the objects of the empty structure. Several nodes may call this; the first one creates shared objects.
    virtual void found(tutti::tx& /*t*/) {}
    /// Counts keys that `fill` has added without `add`.
    void count_added(std::uint64_t keys) noexcept { balance_ += static_cast<std::int64_t>(keys); }

    [[nodiscard]] tutti::cluster::node& here() const noexcept { return here_; }
    [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }

private:
    struct operation {
        std::uint64_t key, draw;
        bool adds;
    };
    /// Returns by how many keys the set has grown.
    int change(tutti::tx& t, const operation& o);
    /// Does the same, or only looks up a key, open nested under the key's abstract lock.
    int run_open(tutti::tx& t, const operation& o, bool reads);

    tutti::cluster::node& here_;
    const std::uint64_t keys_;  // the keys are 0 to keys_ - 1
    const unsigned reads_, inner_;
    const nesting nesting_;
    std::atomic<std::int64_t> balance_{0};  // added minus removed keys of this node
};

}  // namespace cluster_app
