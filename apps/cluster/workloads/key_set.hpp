// A set of keys in some structure of objects: add, remove, and find one. HyflowCPP's micro-benchmarks, section 6.2.1,
// are such sets, filled by half.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/workload.hpp"

namespace cluster_app {

/// Every node counts what its commits have added and removed, so that an update which is lost comes to light, too.
class key_set : public workload {
public:
    void fill() override;
    void run_one(random_source& dice) override;
    void settle() override;
    std::string check() override;

    /// False if it is there already. `draw` is random, the same in every attempt.
    virtual bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) = 0;
    /// False if it is not there.
    virtual bool remove(tutti::tx& t, std::uint64_t key) = 0;
    virtual bool contains(tutti::tx& t, std::uint64_t key) = 0;
    /// All keys, in any order; or what is wrong with the structure. Gives up at more than `most` of them.
    virtual std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t most) = 0;

protected:
    key_set(std::uint64_t keys, const extent& size, tutti::cluster::node& here)
        : here_{here}, keys_{keys}, reads_{size.reads}, inner_{size.inner}, nesting_{size.nesting} {}

    /// The objects that the empty structure has; of those that all nodes need, this node may be the first.
    virtual void found(tutti::tx& /*t*/) {}
    /// Keys that `fill` has added in another way than by `add`.
    void count_added(std::uint64_t keys) noexcept { balance_ += static_cast<std::int64_t>(keys); }

    [[nodiscard]] tutti::cluster::node& here() const noexcept { return here_; }
    [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }

private:
    struct operation {
        std::uint64_t key, draw;
        bool adds;
    };
    /// By how many keys the set has grown.
    int change(tutti::tx& t, const operation& o);
    /// The same, or only a look, open nested under the abstract lock of the key.
    int run_open(tutti::tx& t, const operation& o, bool reads);

    tutti::cluster::node& here_;
    const std::uint64_t keys_;  // 0 and up
    const unsigned reads_, inner_;
    const nesting nesting_;
    std::atomic<std::int64_t> balance_{0};  // added less removed, of this node
};

}  // namespace cluster_app
