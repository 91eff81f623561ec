#include "cluster/replica/world.hpp"

#include <algorithm>

#include "cluster/replica/fault_schedule.hpp"

namespace tutti::cluster::replica::testing {

plan of_seed(std::uint64_t seed) {
    event_queue dice{seed * 0x9e3779b97f4a7c15ULL};
    plan p;
    p.seed = seed;
    p.how.members = dice.chance(50) ? 3 : 5;
    p.how.network_delay = dice.between(1, 15) * ms;
    p.how.disk_delay = dice.between(0, 12) * ms;
    p.how.slow_of_100 = static_cast<unsigned>(dice.below(6));
    p.how.lost_of_100 = static_cast<unsigned>(dice.below(6));
    p.how.snapshot_threshold = static_cast<unsigned>(dice.between(8, 60));
    p.how.snapshot_trailing = static_cast<unsigned>(dice.between(1, 10));
    // The window is large enough for the changes of one entry, because the simulation asks the members for these
    // changes.
    if (dice.chance(40)) p.how.history.writes = dice.between(25, 60);
    p.clients = static_cast<unsigned>(dice.between(2, 5));
    p.habits.objects = static_cast<unsigned>(dice.between(2, 8));
    p.habits.attempts = static_cast<unsigned>(dice.between(8, 24));
    p.habits.request_timeout = dice.between(100, 500) * ms;
    if (dice.chance(20)) p.habits.tries = static_cast<unsigned>(dice.between(1, 3));
    p.membership = dice.chance(40);
    // In half of the seeds erased records are dropped soon, which the history window has to hold, too.
    if (seed % 2 == 0) {
        p.how.max_erased = 1 + seed / 2 % 4;
        if (p.how.history.writes < history_window{}.writes) p.how.history.writes += 25;
    }
    p.how.message_bytes = dice.chance(70) ? dice.between(1, 1200) : 1u << 20;
    return p;
}

world::world(const plan& p) : plan_{p}, events_{p.seed}, group_{events_, past_, p.how} {
    for (unsigned i = 0; i <= p.clients; ++i)
        clients_.push_back(std::make_unique<client>(events_, group_, past_, i, p.habits));
}

std::size_t world::sum(std::size_t (client::*of)() const noexcept) const {
    std::size_t all = 0;
    for (const auto& c : clients_) all += (*c.*of)();
    return all;
}

void world::trouble() {
    if (events_.now() > plan_.trouble) return;
    if (plan_.hurts == plan::troubles::all) inject_fault(events_, group_, plan_.membership);
    else inject_network_fault(events_, group_, plan_.hurts == plan::troubles::cuts_and_clocks);
    events_.after(events_.between(50, 900) * ms, [this] { trouble(); });
}

bool world::run_until(instant when, const std::function<bool()>& done) {
    while (!done() && group_.wrong().empty() && events_.now() < when) {
        if (!events_.step()) return false;
    }
    return done() && group_.wrong().empty();
}

std::string world::run() {
    const auto ended = [this] {
        return std::all_of(clients_.begin() + 1, clients_.end(), [](const auto& c) { return c->done(); });
    };
    for (std::size_t i = 1; i < clients_.size(); ++i) clients_[i]->start();
    events_.after(events_.below(600 * ms), [this] { trouble(); });
    bool well = run_until(plan_.trouble + 2000 * ms, ended);
    if (group_.wrong().empty()) {
        heal(group_);
        well = run_until(events_.now() + 60000 * ms, ended);
    }
    if (!group_.wrong().empty()) return group_.wrong();
    if (!well) return never_ends;
    // Reads every object again after a quiet period.
    (void)run_until(events_.now() + 3000 * ms, [] { return false; });
    heal(group_);
    well = read_all();
    if (!group_.wrong().empty()) return group_.wrong();
    if (std::string wrong = past_.check(); !wrong.empty()) return wrong;
    // A member whose snapshot is newer than the leader's may get nothing from C-Raft until the leader takes its next
    // snapshot. The loop keeps asking, because every question is an entry.
    std::string differs = well ? group_.compare() : never_ends;
    for (int i = 0; i < 200 && well && differs.starts_with(never_ends) && group_.wrong().empty(); ++i) {
        (void)run_until(events_.now() + 100 * ms, [] { return false; });
        well = read_all();
        differs = group_.compare();
    }
    return group_.wrong().empty() ? differs : group_.wrong();
}

bool world::read_all() {
    task<bool> last = clients_.front()->read_all();
    last.start();
    return run_until(events_.now() + 60000 * ms, [&last] { return last.done(); });
}

}  // namespace tutti::cluster::replica::testing
