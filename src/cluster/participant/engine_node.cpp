#include "cluster/participant/engine_node.hpp"

#include "cluster/backend/engine_settings.hpp"
#include "cluster/participant/engine_enlistment.hpp"

namespace tutti::cluster {
namespace {

std::unique_ptr<backend::engine> connect(const engine_options& how) {
    try {
        auto e = backend::open_engine(how.address, settings_of(how));
        if (how.staleness.count() != 0) e = std::make_unique<backend::caching_engine>(std::move(e), how.staleness);
        return e;
    } catch (const backend::engine_error& r) {
        throw connection_error{std::string{"tutti: "} + r.what()};
    }
}

}  // namespace

engine_node::engine_node(const engine_options& how)
    : how_{how},
      engine_{connect(how)},
      cache_{dynamic_cast<backend::caching_engine*>(engine_.get())},
      committer_{*engine_, how.request_timeout},
      leases_{*engine_, committer_, how.lease},
      notifier_{[this] { return engine_->open_key_feed(); }} {}

engine_node::~engine_node() {
    notifier_.stop();
    destroy_participants();
}

std::unique_ptr<object_participant> engine_node::make_participant(core::descriptor& d) {
    return std::make_unique<engine_enlistment>(*this, d);
}

void engine_node::refuse_lost(bool uncertain) const {
    const std::string& who = engine_->abilities().name;
    if (uncertain) {
        throw outcome_unknown{"tutti: " + who + " was asked to commit this block and has not answered for " +
                                  std::to_string(how_.request_timeout.count()) +
                                  " ms: the block has had all of its effects on objects, or will have none; local "
                                  "variables are as before. Read the objects once it answers again",
                              0};
    }
    throw node_lost{"tutti: " + who + " cannot be reached, or has not answered within " +
                        std::to_string(how_.request_timeout.count()) + " ms. The block had no effect",
                    0};
}

void engine_node::refuse_expired() const {
    throw node_lost{"tutti: an irrevocable block has held objects of " + engine_->abilities().name +
                        " for longer than " + std::to_string(how_.lease.count()) +
                        " ms, and others did not wait any longer. It had no effect on objects: make it shorter, or set "
                        "engine_options::lease",
                    0};
}

node_status engine_node::status() const {
    node_status f = collect_status();
    f.failure_timeout_ms = static_cast<std::uint64_t>(how_.request_timeout.count());
    const std::uint64_t cached = cached_reads();  // read first, because round_trips_ counts each cached read earlier
    f.round_trips = round_trips_.load(std::memory_order_relaxed) - cached;
    return f;
}

engine_capabilities engine_node::capabilities() const {
    const backend::capabilities& can = engine_->abilities();
    // One operation is subtracted, because exactly_once adds a commit record.
    return {can.name,    can.keeps_old_versions, can.batches,  can.has_record_feed,
            can.durable, can.max_operations - 1, can.max_bytes};
}

std::unique_ptr<detail::node_impl> detail::make_engine_node(const engine_options& how) {
    return std::make_unique<engine_node>(how);
}

std::vector<std::string> engines() { return backend::known_engines(); }

}  // namespace tutti::cluster
