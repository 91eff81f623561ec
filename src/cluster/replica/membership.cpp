// Who is in the group: changes go through its log, one at a time.
#include "cluster/replica/seat_body.hpp"

namespace tutti::cluster::replica {

void seat::admit(member who, changed done) {
    auto w = std::make_unique<body::change_waiting>();
    w->of = this;
    w->change.data = w.get();
    w->who = std::move(who);
    w->done = std::move(done);
    constexpr auto voted = +[](raft_change* r, int status) {
        const std::unique_ptr<body::change_waiting> all{static_cast<body::change_waiting*>(r->data)};
        all->done(status == 0 ? std::string{} : all->of->body_->why(status));
    };
    const auto added = [](raft_change* r, int status) {
        std::unique_ptr<body::change_waiting> all{static_cast<body::change_waiting*>(r->data)};
        raft& group = all->of->body_->raft_;
        if (status == 0) status = raft_assign(&group, &all->change, all->who.id, RAFT_VOTER, voted);
        if (status == 0) {
            (void)all.release();  // raft calls back
        } else {
            all->done(all->of->body_->why(status));
        }
    };
    raft& group = body_->raft_;
    int failed = raft_add(&group, &w->change, w->who.id, w->who.address.c_str(), added);
    // It was added before, and has no vote yet.
    if (failed == RAFT_DUPLICATEID) failed = raft_assign(&group, &w->change, w->who.id, RAFT_VOTER, voted);
    if (failed == 0) {
        (void)w.release();  // raft calls back
    } else {
        w->done(body_->why(failed));
    }
}

void seat::remove(std::uint64_t id, changed done) {
    auto w = std::make_unique<body::change_waiting>();
    w->of = this;
    w->change.data = w.get();
    w->done = std::move(done);
    const int failed = raft_remove(&body_->raft_, &w->change, id, [](raft_change* r, int status) {
        const std::unique_ptr<body::change_waiting> all{static_cast<body::change_waiting*>(r->data)};
        all->done(status == 0 ? std::string{} : all->of->body_->why(status));
    });
    if (failed == 0) {
        (void)w.release();  // raft calls back
    } else {
        w->done(body_->why(failed));
    }
}

bool seat::hand_over(std::function<void()> done) {
    struct waiting {
        struct raft_transfer transfer {};
        std::function<void()> done;
    };
    if (!leads()) return false;
    auto w = std::make_unique<waiting>();
    w->transfer.data = w.get();
    w->done = std::move(done);
    if (raft_transfer(&body_->raft_, &w->transfer, 0, [](struct raft_transfer* t) {
            const std::unique_ptr<waiting> all{static_cast<waiting*>(t->data)};
            all->done();
        }) != 0)
        return false;
    (void)w.release();  // raft calls back
    return true;
}

seat::standing seat::stands() const noexcept {
    raft& r = body_->raft_;
    std::string_view as = "unavailable";
    switch (raft_state(&r)) {
        case RAFT_LEADER: as = "leader"; break;
        case RAFT_CANDIDATE: as = "candidate"; break;
        case RAFT_FOLLOWER: as = "follower"; break;
        default: break;
    }
    return {r.current_term, raft_last_index(&r), raft_last_applied(&r), as};
}

std::string seat::trouble() const { return body_->why(0); }

std::vector<seat::role> seat::members() const {
    const raft_configuration& now = body_->raft_.configuration;
    std::vector<role> all;
    for (unsigned i = 0; i < now.n; ++i)
        all.push_back({{now.servers[i].id, now.servers[i].address}, now.servers[i].role == RAFT_VOTER});
    return all;
}

}  // namespace tutti::cluster::replica
