// What a node is made of: its site, its channel, and one enlistment for each context that has used it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cluster/enlistment.hpp"

namespace tutti::cluster::detail {

class node_body {
public:
    explicit node_body(const node_options& how);
    ~node_body();

    /// The calling context's. Throws usage_error outside a block.
    enlistment& here(tx& t);

    void count_commit() noexcept { commits_.fetch_add(1, std::memory_order_relaxed); }
    void count_abort() noexcept { aborts_.fetch_add(1, std::memory_order_relaxed); }
    [[noreturn]] void refuse_lost(node_number node, bool uncertain) const;
    [[nodiscard]] node_statistics statistics() const;
    [[nodiscard]] const site& at() const noexcept { return site_; }

private:
    const node_options how_;
    const std::uint64_t number_of_body_;  // never used again, as an address may be
    site site_;
    channel channel_;
    std::atomic<std::uint64_t> commits_{0}, aborts_{0};
    std::mutex guard_;
    std::unordered_map<core::descriptor*, std::unique_ptr<enlistment>> enlistments_;
};

}  // namespace tutti::cluster::detail
