#include "cluster/workloads/hash_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cluster_app {

using tutti::tx;

void hash_table::fill() {
    publish_share<bucket>(here(), kind::bucket, buckets_, [this](std::uint64_t b) {
        count_added(2);
        return bucket{b, b + 2 * buckets_};  // half of the bucket's keys
    });
}

bool hash_table::add(tx& t, std::uint64_t key, std::uint64_t) {
    if (contains(t, key)) return false;
    of(key).write(t).push_back(key);
    return true;
}

bool hash_table::remove(tx& t, std::uint64_t key) {
    if (!contains(t, key)) return false;
    std::erase(of(key).write(t), key);
    return true;
}

bool hash_table::contains(tx& t, std::uint64_t key) {
    const bucket& in = of(key).read(t);
    return std::ranges::find(in, key) != in.end();
}

std::string hash_table::walk(std::vector<std::uint64_t>& keys, std::uint64_t) {
    std::string wrong;
    visit_all<bucket>(here(), kind::bucket, buckets_, [&](std::uint64_t b, const bucket& in) {
        for (const std::uint64_t key : in) {
            if (key % buckets_ != b) wrong = fmt::format("bucket {} holds key {}, which is not its own", b, key);
        }
        keys.insert(keys.end(), in.begin(), in.end());
    });
    return wrong;
}

}  // namespace cluster_app
