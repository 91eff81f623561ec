// Changes of the group's membership. Each change is an entry of the log, and only one change is in progress at a time.
//
// A leader begins a change only after an entry of its own term was applied. By then the previous change was applied,
// too. Otherwise two changes that do not know of each other could have majorities without a common member (Ongaro, "bug
// in single-server membership changes", raft-dev 2015). The barrier before each change is an entry of the
// leader's own term.
#include "cluster/replica/raft_node_impl.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr const char* another_runs = "another change of the group's members is not committed yet: try again";

}  // namespace

void raft_node::impl::change(std::unique_ptr<pending_change> w) {
    w->of = &of_;
    w->change.data = w.get();
    w->barrier.data = w.get();
    const int failed = raft_barrier(&raft_, &w->barrier, [](struct ::raft_barrier* r, int status) {
        std::unique_ptr<pending_change> all{static_cast<pending_change*>(r->data)};
        all->of->impl_->begin(std::move(all), status);
    });
    if (failed == 0) {
        (void)w.release();  // raft's callback owns it now
    } else {
        w->done(reason_of(failed));
    }
}

void raft_node::impl::begin(std::unique_ptr<pending_change> w, int status) {
    if (status == 0 && shim_->has_uncommitted_configuration()) {
        w->done(another_runs);
        return;
    }
    if (status == 0) status = w->begin(*w);
    shim_->hide_uncommitted_configuration();
    if (status == 0) {
        (void)w.release();  // raft's callback owns it now
    } else {
        w->done(reason_of(status));
    }
}

namespace {

template <class Waiting>
void end(raft_change* r, int status) {
    const std::unique_ptr<Waiting> all{static_cast<Waiting*>(r->data)};
    all->done(status == 0 ? std::string{} : raft_strerror(status));
}

}  // namespace

void raft_node::admit(member who, change_callback done) {
    using waiting = impl::pending_change;
    auto w = std::make_unique<waiting>();
    w->who = std::move(who);
    w->done = std::move(done);
    w->begin = [](waiting& all) {
        raft& group = all.of->impl_->raft_;
        const int added =
            raft_add(&group, &all.change, all.who.id, all.who.address.c_str(), [](raft_change* r, int status) {
                // The first change has added the member without a vote. A second change gives it the vote.
                std::unique_ptr<waiting> first{static_cast<waiting*>(r->data)};
                if (status != 0) {
                    first->done(raft_strerror(status));
                    return;
                }
                first->begin = [](waiting& all_again) {
                    return raft_assign(&all_again.of->impl_->raft_, &all_again.change, all_again.who.id, RAFT_VOTER,
                                       end<waiting>);
                };
                impl& b = *first->of->impl_;
                b.change(std::move(first));
            });
        // If an earlier try has already added the member, only the vote is missing.
        if (added != RAFT_DUPLICATEID) return added;
        return raft_assign(&group, &all.change, all.who.id, RAFT_VOTER, end<waiting>);
    };
    impl_->change(std::move(w));
}

void raft_node::remove(std::uint64_t id, change_callback done) {
    using waiting = impl::pending_change;
    auto w = std::make_unique<waiting>();
    w->who.id = id;
    w->done = std::move(done);
    w->begin = [](waiting& all) { return raft_remove(&all.of->impl_->raft_, &all.change, all.who.id, end<waiting>); };
    impl_->change(std::move(w));
}

std::vector<raft_node::role> raft_node::members() const {
    const raft_configuration& now = impl_->raft_.configuration;
    std::vector<role> all;
    for (unsigned i = 0; i < now.n; ++i)
        all.push_back({{now.servers[i].id, now.servers[i].address}, now.servers[i].role == RAFT_VOTER});
    return all;
}

}  // namespace tutti::cluster::replica
