// A node whose objects are held by an engine: the engine, its exactly-once committer, its leases, and the wake-up
// notifier.
#pragma once

#include "cluster/backend/caching_engine.hpp"
#include "cluster/backend/lease.hpp"
#include "cluster/participant/node_impl.hpp"
#include "cluster/participant/wakeup_notifier.hpp"

namespace tutti::cluster {

class engine_node final : public detail::node_impl {
public:
    explicit engine_node(const engine_options& how);
    ~engine_node() override;

    [[nodiscard]] backend::engine& engine() noexcept { return *engine_; }
    [[nodiscard]] backend::exactly_once& committer() noexcept { return committer_; }
    [[nodiscard]] backend::leases& leases() noexcept { return leases_; }
    [[nodiscard]] cluster::wakeup_notifier& notifier() noexcept { return notifier_; }
    void count_round_trip() noexcept { round_trips_.fetch_add(1, std::memory_order_relaxed); }
    [[noreturn]] void refuse_lost(bool uncertain) const;
    /// Throws an error, because an irrevocable block has held its objects for longer than other blocks wait.
    [[noreturn]] void refuse_expired() const;

    unsigned number() const noexcept override { return 0; }
    unsigned nodes() const noexcept override { return 1; }
    bool lost(unsigned) const noexcept override { return false; }
    node_status status() const override;
    engine_capabilities capabilities() const override;
    std::uint64_t cached_reads() const noexcept override { return cache_ == nullptr ? 0 : cache_->hits(); }

private:
    std::unique_ptr<object_participant> make_participant(core::descriptor& d) override;

    const engine_options how_;
    std::unique_ptr<backend::engine> engine_;
    backend::caching_engine* const cache_;  // engine_ itself if it is a caching engine, otherwise null
    backend::exactly_once committer_;
    backend::leases leases_;
    cluster::wakeup_notifier notifier_;
    std::atomic<std::uint64_t> round_trips_{0};
};

}  // namespace tutti::cluster
