// The parts of raft_node that report a member's position in the log, and that transfer the leadership.
#include "cluster/replica/raft_node_impl.hpp"

namespace tutti::cluster::replica {

bool raft_node::transfer_leadership(std::function<void()> done) {
    struct waiting {
        struct raft_transfer transfer{};
        std::function<void()> done;
    };
    if (!is_leader()) return false;
    auto w = std::make_unique<waiting>();
    w->transfer.data = w.get();
    w->done = std::move(done);
    if (raft_transfer(&impl_->raft_, &w->transfer, 0, [](struct raft_transfer* t) {
            const std::unique_ptr<waiting> all{static_cast<waiting*>(t->data)};
            all->done();
        }) != 0)
        return false;
    (void)w.release();  // raft's callback owns it now
    return true;
}

raft_node::log_status raft_node::status() const noexcept {
    raft& r = impl_->raft_;
    std::string_view as = "unavailable";
    switch (raft_state(&r)) {
        case RAFT_LEADER: as = "leader"; break;
        case RAFT_CANDIDATE: as = "candidate"; break;
        case RAFT_FOLLOWER: as = "follower"; break;
        default: break;
    }
    return {r.current_term, raft_last_index(&r), raft_last_applied(&r), as};
}

}  // namespace tutti::cluster::replica
