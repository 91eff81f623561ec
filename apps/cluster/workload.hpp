// The workloads of the cluster. Each fills the cluster, runs one transaction at a time, and checks its invariant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

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

/// The relation between the parts of a transaction.
enum class nesting : std::uint8_t {
    flat,        ///< one block
    closed,      ///< each is a block inside the transaction
    checkpoint,  ///< each is inside the checkpoint of the part before
    open,        ///< each commits immediately, and is undone if the block does not commit
};

/// The size of a workload, and the kind of its transactions.
struct extent {
    std::uint64_t objects = 0;  ///< accounts, keys, buckets, …, depending on the workload
    unsigned reads = 20;        ///< of 100 transactions
    unsigned warehouses = 1;    ///< of TPC-C
    unsigned shrink = 100;      ///< divisor of TPC-C's cardinalities
    std::uint64_t seed = 1;     ///< of TPC-C's rows
    unsigned inner = 1;         ///< operations of a transaction, in workloads that support several
    cluster_app::nesting nesting = nesting::flat;
    bool singly = false;  ///< accounts of the bank are opened one after the other
};

class workload {
public:
    virtual ~workload() = default;
    /// Creates this node's share of the objects.
    virtual void fill() = 0;
    /// Runs one transaction. Any thread may call it.
    virtual void run_one(random_source& dice) = 0;
    /// Publishes this node's counts to all nodes. REQUIRES: its threads have ended. To be called once.
    virtual void publish_counts() {}
    /// Returns the violated invariant, or nothing. REQUIRES: no transaction runs, and all nodes have published their
    /// counts.
    virtual std::string check() = 0;
};

/// The high half of an id: the kind of the object.
enum class kind : std::uint64_t {
    account = 1,
    bucket,
    list_node,
    skip_list_node,
    tree_node,
    car,
    flight,
    room,
    customer,
    balance,
};

/// Returns the object of that kind and number.
template <class T>
tutti::cluster::ref<T> object_at(tutti::cluster::node& here, kind k, std::uint64_t number) noexcept {
    return {here, tutti::cluster::object_id{static_cast<std::uint64_t>(k), number}};
}

/// Returns the objects from `first` up to, but excluding, `last`.
template <class T>
std::vector<tutti::cluster::ref<T>> objects_at(tutti::cluster::node& here, kind k, std::uint64_t first,
                                               std::uint64_t last) {
    std::vector<tutti::cluster::ref<T>> all;
    for (std::uint64_t i = first; i < last; ++i) all.push_back(object_at<T>(here, k, i));
    return all;
}

inline constexpr std::uint64_t batch = 80;  // objects in a transaction of fill and check: etcd's limit

/// Calls f(first, last) for [from, to), a batch at a time.
template <class F>
void for_batches(std::uint64_t from, std::uint64_t to, F&& f) {
    for (std::uint64_t i = from; i < to; i += batch) f(i, std::min(i + batch, to));
}

/// Does the same for this node's share of n.
template <class F>
void for_share(std::uint64_t n, const tutti::cluster::node& here, F&& f) {
    for_batches(n * here.number() / here.nodes(), n * (here.number() + 1) / here.nodes(), f);
}

/// Publishes value(number) for this node's share of n objects.
template <class T, class F>
void publish_share(tutti::cluster::node& here, kind k, std::uint64_t n, F&& value) {
    for_share(n, here, [&](std::uint64_t first, std::uint64_t last) {
        tutti::atomically([&](tutti::tx& t) {
            prefetch(t, objects_at<T>(here, k, first, last));
            for (std::uint64_t i = first; i < last; ++i) object_at<T>(here, k, i).publish(t, value(i));
        });
    });
}

/// Calls f(number, object) for all n objects. REQUIRES: no other transaction runs.
template <class T, class F>
void visit_all(tutti::cluster::node& here, kind k, std::uint64_t n, F&& f) {
    for_batches(0, n, [&](std::uint64_t first, std::uint64_t last) {
        const std::vector<T> found = tutti::atomically([&](tutti::tx& t) {
            std::vector<T> values;
            const auto these = objects_at<T>(here, k, first, last);
            prefetch(t, these);
            for (const auto& r : these) values.push_back(r.read(t));
            return values;
        });
        for (std::uint64_t i = first; i < last; ++i) f(i, found[i - first]);
    });
}

}  // namespace cluster_app
