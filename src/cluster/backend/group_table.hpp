// The groups that objects are spread over, and each group's share of a get or commit.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

struct group_handle {
    std::unique_ptr<engine>
        request_engine;  ///< for gets and commits: the group, or the batching engine over it (batching_engine.hpp)
    group_engine* group = nullptr;  ///< the same group
};

/// All groups, in the order that every program knows (layout.hpp). Groups may be added while other groups are in use.
/// They are never removed.
///
/// Thread safety: every member may be called from any thread, but `add` only by one thread at a time.
class group_table {
public:
    static constexpr std::size_t max_groups = 64;
    [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_acquire); }
    [[nodiscard]] const group_handle& operator[](std::size_t i) const noexcept { return all_[i]; }
    void add(group_handle handle) {
        const std::size_t i = size();
        if (i == max_groups) throw engine_error{"objects are spread over 64 groups at most"};
        all_[i] = std::move(handle);
        // The partner of this store is the load in `size`: a thread that sees the count also sees the group.
        count_.store(i + 1, std::memory_order_release);
    }
    /// Returns the index of the group with that number, or size() if the table does not contain the group.
    [[nodiscard]] std::size_t index_of(std::uint64_t number) const noexcept {
        const std::size_t known = size();
        std::size_t i = 0;
        while (i < known && all_[i].group->number() != number) ++i;
        return i;
    }

private:
    std::array<group_handle, max_groups> all_;
    std::atomic<std::size_t> count_{0};
};

/// The request for one group as its share of a get or commit.
struct group_request {
    std::size_t group = 0;
    std::vector<std::uint32_t> slots;  ///< the slots of the following keys, each once
    std::vector<check> checks;
    std::vector<write> writes;
    std::vector<key> wanted;
    std::vector<std::size_t> indices;  ///< the index of each wanted key in the whole request

    [[nodiscard]] request as_request() const {
        request r;
        r.checks = checks;
        r.writes = writes;
        return r;
    }
};

}  // namespace tutti::cluster::backend
