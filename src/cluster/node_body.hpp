// What a node is made of, whoever holds its objects: one participant for each context that has used it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cluster/opened.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster::detail {

class node_body {
public:
    node_body();
    virtual ~node_body();
    node_body(const node_body&) = delete;
    node_body& operator=(const node_body&) = delete;

    /// The calling context's. Throws usage_error outside a block.
    opened& here(tx& t);

    void count_commit() noexcept { commits_.fetch_add(1, std::memory_order_relaxed); }
    void count_abort(bool of_reader = false) noexcept {
        aborts_.fetch_add(1, std::memory_order_relaxed);
        if (of_reader) reader_aborts_.fetch_add(1, std::memory_order_relaxed);
    }
    void count_rewind() noexcept { rewinds_.fetch_add(1, std::memory_order_relaxed); }

    [[nodiscard]] virtual unsigned number() const noexcept = 0;
    [[nodiscard]] virtual unsigned nodes() const noexcept = 0;
    [[nodiscard]] virtual bool lost(unsigned node) const noexcept = 0;
    [[nodiscard]] virtual node_statistics statistics() const = 0;
    [[nodiscard]] virtual engine_capabilities capabilities() const = 0;

protected:
    [[nodiscard]] node_statistics counted() const noexcept {
        node_statistics s;
        s.commits = commits_.load(std::memory_order_relaxed);
        s.aborts = aborts_.load(std::memory_order_relaxed);
        s.rewinds = rewinds_.load(std::memory_order_relaxed);
        s.reader_aborts = reader_aborts_.load(std::memory_order_relaxed);
        return s;
    }
    /// The last thing that a derived destructor may rely on: participants refer to what it is made of.
    void forget_participants() noexcept { opened_.clear(); }

private:
    virtual std::unique_ptr<opened> make(core::descriptor& d) = 0;

    const std::uint64_t number_of_body_;  // never used again, as an address may be
    std::atomic<std::uint64_t> commits_{0}, aborts_{0}, reader_aborts_{0}, rewinds_{0};
    std::mutex guard_;
    std::unordered_map<core::descriptor*, std::unique_ptr<opened>> opened_;
};

/// Nodes that hold the objects themselves.
[[nodiscard]] std::unique_ptr<node_body> make_peer_body(const node_options& how);
/// An engine holds them.
[[nodiscard]] std::unique_ptr<node_body> make_engine_body(const engine_options& how);

}  // namespace tutti::cluster::detail
