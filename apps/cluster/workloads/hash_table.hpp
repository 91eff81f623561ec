// A table of buckets, each an object. HyflowCPP's hash table, section 6.2.1.5.
#pragma once

#include "cluster/workloads/key_set.hpp"

namespace cluster_app {

class hash_table final : public key_set {
public:
    using bucket = std::vector<std::uint64_t>;

    hash_table(const extent& size, tutti::cluster::node& here)
        : key_set{size.objects * 4, size, here}, buckets_{size.objects} {}

    void fill() override;

private:
    bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) override;
    bool remove(tutti::tx& t, std::uint64_t key) override;
    bool contains(tutti::tx& t, std::uint64_t key) override;
    std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t max) override;

    [[nodiscard]] tutti::cluster::ref<bucket> of(std::uint64_t key) const {
        return object_at<bucket>(here(), kind::bucket, key % buckets_);
    }

    const std::uint64_t buckets_;
};

}  // namespace cluster_app
