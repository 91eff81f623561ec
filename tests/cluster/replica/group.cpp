#include "cluster/replica/group.hpp"

#include <algorithm>

namespace tutti::cluster::replica::testing {

using backend::engine_status;

group::group(event_queue& events, history_checker& truth, conditions how) : events_{events}, past_{truth}, how_{how} {
    for (raft_id id = 1; id <= how_.members; ++id) nodes_[id].id = id;
    for (auto& [id, n] : nodes_) start(n, true);
}

group::~group() {
    events_.forget_all();
    for (auto& [id, n] : nodes_) {
        if (n.running) kill(id);
    }
    while (events_.step()) {}
}

void group::start(node& n, bool first) {
    ++n.life;
    network& net = *this;
    if (!n.clock) n.clock = std::make_unique<skewed_clock>(events_);
    n.io = std::make_unique<simulated_io>(events_, *n.clock, net, n.stored, n.id, how_.disk_delay);
    n.io->fail_images(2);
    n.io->delay_writes(how_.network_delay);
    n.running = std::make_unique<raft_node>(n.io->io(), raft_settings{.self = {n.id, address(n.id)},
                                                                      .election_ms = 200,
                                                                      .heartbeat_ms = 40,
                                                                      .snapshot_threshold = how_.snapshot_threshold,
                                                                      .snapshot_trailing = how_.snapshot_trailing,
                                                                      .install_ms = 400,
                                                                      .max_entry_bytes = 200,
                                                                      .image_storage = &n.io->images(),
                                                                      .piece_shards = 128,
                                                                      .message_bytes = how_.message_bytes,
                                                                      .history = how_.history,
                                                                      .max_erased = how_.max_erased});
    n.flush_planned = false;
    n.place = n.running->state().latest();
    n.running->on_change([this, &n] { heard(n); });
    if (first) {
        std::vector<member> all;
        for (raft_id id = 1; id <= how_.members; ++id) all.push_back({id, address(id)});
        n.running->bootstrap(all);
    }
    n.running->start();
}

void group::heard(node& n) {
    std::vector<backend::change> all;
    const state_machine& m = n.running->state();
    const version reached = std::exchange(reached_, std::max(reached_, m.latest()));
    if (!m.changes_after(n.place, static_cast<std::size_t>(-1), all)) {
        // A snapshot has replaced the member's state, or its history window is small. Other members have reported the
        // missing versions.
        ++counts_.installs;
        if (m.floor() > reached) wrong_ = "a member holds what none has applied";
        n.place = m.floor();
        all.clear();
        if (!m.changes_after(n.place, static_cast<std::size_t>(-1), all))
            wrong_ = "a member's history window does not reach back far enough";
    }
    if (std::string wrong = past_.add_log(all); !wrong.empty() && wrong_.empty()) wrong_ = std::move(wrong);
}

instant group::delay() {
    const instant most = events_.chance(how_.slow_of_100) ? 50 * how_.network_delay : how_.network_delay;
    return events_.below(most + 1);
}

/// Counts a message that ends before the leader's last entry. The sender of entries has cut such a message, or has held
/// its entries back.
void group::note_size(const node& from, const parcel& what) {
    if (what.message.type != RAFT_IO_APPEND_ENTRIES || !from.running) return;
    const raft_index last = what.message.append_entries.prev_log_index + what.entries.size();
    if (last < from.running->status().last_index) ++(what.entries.empty() ? counts_.held : counts_.cut);
}

bool group::send(raft_id from, raft_id to, parcel what) {
    note_size(nodes_.at(from), what);
    if (cut_.contains({from, to}) || events_.chance(how_.lost_of_100)) return events_.chance(50);
    instant& last = last_[{from, to}];
    last = std::max(last, events_.now() + delay());
    events_.at(last, [this, from, to, what = std::move(what)] {
        if (!cut_.contains({from, to})) deliver(to, what);
    });
    return true;
}

void group::deliver(raft_id to, const parcel& what) {
    const auto at = nodes_.find(to);
    if (at == nodes_.end() || !at->second.running) return;
    node& n = at->second;
    if (const instant until = n.io->stopped_until(); until > events_.now()) {
        events_.at(until + events_.below(3 * ms), [this, to, what] { deliver(to, what); });
        return;
    }
    const bool led = n.running->is_leader();
    n.io->receive(what);
    if (!led && n.running->is_leader()) ++counts_.elections;
}

void group::ask(raft_id whom, question q, std::function<void(answer)> back) {
    if (events_.chance(how_.lost_of_100)) return;
    events_.after(delay(), [this, whom, q = std::move(q), back = std::move(back)]() mutable {
        const auto at = nodes_.find(whom);
        if (at == nodes_.end() || !at->second.running) {
            // The port of a killed member is closed.
            if (events_.chance(50))
                events_.after(delay(), [back = std::move(back)] {
                    back({{.why = "no", .is_not_leader = true}, {}, {}, 0, {}, {}});
                });
            return;
        }
        const instant until = at->second.io->stopped_until();
        if (until <= events_.now()) {
            answer_question(at->second, std::move(q), back);
            return;
        }
        // The system has accepted the request. The process finds it when it runs again, if it is still the same
        // process.
        events_.at(until + events_.below(3 * ms),
                   [this, &n = at->second, life = at->second.life, q = std::move(q), back = std::move(back)]() mutable {
                       if (n.running && n.life == life) answer_question(n, std::move(q), back);
                   });
    });
}

void group::tell_records(const state_machine& of, raft_id self, const question& q, answer& a) {
    const auto wanted = [&](std::string_view k) { return q.slots.has(k); };
    if (q.is == question::list) {
        state_machine::list_position place{q.from.member == self ? q.from.buckets : 0, q.from.next};
        of.list(place, 40, 1000, wanted, a.listed);
        a.place = {of.latest(), place.next == place.buckets, of.absence(), of.prepared(100), self, place.buckets,
                   place.next};
        return;
    }
    a.place.as_of = q.of.at;
    std::vector<backend::change> all;
    if (!of.changes_after(a.place.as_of, 3, all)) a.result.status = backend::engine_status::conflict;
    a.place.is_finished = a.place.as_of == of.latest();
    a.place.absence = of.absence();
    for (backend::change& c : all) {
        if (wanted(c.of)) a.listed.push_back(std::move(c));
    }
}

void group::answer_question(node& n, question q, const std::function<void(answer)>& back) {
    const auto tell = [this, &n, life = n.life, back](answer a) {
        if (n.life != life || !n.running) return;  // the member was killed, so its answer is lost
        a.leader = n.running->leader().id;
        if (!events_.chance(how_.lost_of_100)) events_.after(delay(), [back, a = std::move(a)] { back(a); });
    };
    const auto tell_reply = [tell](reply r) { tell({std::move(r), {}, {}, 0}); };
    switch (q.is) {
        case question::commit: n.running->commit(std::move(q.checks), std::move(q.writes), tell_reply); break;
        case question::prepare:
            n.running->prepare(std::move(q.who), std::move(q.checks), std::move(q.writes), tell_reply);
            break;
        case question::finish: n.running->finish(std::move(q.who.id), q.committed, tell_reply); break;
        case question::forget: n.running->forget(std::move(q.wanted)); break;
        case question::import_records:
            n.running->import_records(std::move(q.checks), std::move(q.imported), q.absence, tell_reply);
            break;
        case question::list:
        case question::changed:
            n.running->get({}, backend::freshness::now, {}, {},
                           [tell, &n, q](reply r, backend::read_snapshot, std::vector<backend::record>) {
                               answer a{std::move(r), {}, {}, 0};
                               if (a.result.status == backend::engine_status::good)
                                   tell_records(n.running->state(), n.id, q, a);
                               tell(std::move(a));
                           });
            break;
        case question::get:
            // As in a real member's process, every member that has applied a state may show it, not only the leader.
            if (q.how == backend::freshness::same && q.of.at != 0 && n.running->state().latest() >= q.of.at) {
                reply r;
                std::vector<backend::record> found;
                r.status = n.running->state().get(q.of, q.how, q.checks, q.wanted, found);
                return tell({std::move(r), std::move(q.of), std::move(found), 0});
            }
            n.running->get(std::move(q.of), q.how, std::move(q.checks), std::move(q.wanted),
                           [tell](reply r, backend::read_snapshot of, std::vector<backend::record> found) {
                               tell({std::move(r), std::move(of), std::move(found), 0});
                           });
            break;
    }
    plan_flush(n);
}

void group::plan_flush(node& n) {
    if (n.flush_planned) return;
    n.flush_planned = true;
    events_.after(events_.below(3 * ms), [this, &n, life = n.life] {
        if (n.life != life || !n.running) return;
        n.flush_planned = false;
        if (n.io->stopped_until() > events_.now()) {
            plan_flush(n);
        } else {
            n.running->flush();
        }
    });
}

std::vector<raft_id> group::members() const {
    std::vector<raft_id> all;
    for (const auto& [id, n] : nodes_) {
        if (n.in_group) all.push_back(id);
    }
    return all;
}

bool group::runs(raft_id id) const {
    const auto at = nodes_.find(id);
    return at != nodes_.end() && at->second.running != nullptr && at->second.io->stopped_until() <= events_.now();
}

bool group::has_process(raft_id id) const { return nodes_.at(id).running != nullptr; }

std::size_t group::down() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(nodes_, [this](const auto& one) { return one.second.in_group && !runs(one.first); }));
}

raft_id group::leader() const {
    for (const auto& [id, n] : nodes_) {
        if (n.running && n.running->is_leader()) return id;
    }
    return 0;
}

void group::kill(raft_id id) {
    node& n = nodes_.at(id);
    ++counts_.kills;
    n.io->kill();
    // The memory of the process is gone. C-Raft's part of it is freed when its close has finished.
    raft_node* ends = n.running.get();
    ending_.emplace_back(std::move(n.running), std::move(n.io));
    ends->close([this, ends] {
        events_.after(
            0, [this, ends] { std::erase_if(ending_, [ends](const auto& one) { return one.first.get() == ends; }); });
    });
}

void group::restart(raft_id id) {
    node& n = nodes_.at(id);
    if (!n.running) start(n, false);
}

void group::stop(raft_id id, instant how_long) {
    if (!runs(id)) return;
    ++counts_.stops;
    nodes_.at(id).io->stop_until(events_.now() + how_long);
}

void group::break_disk(raft_id id) {
    node& n = nodes_.at(id);
    n.io->fail_next_write();
    look_after(n, n.life);
}

void group::look_after(node& n, unsigned life) {
    if (n.life != life || !n.running) return;
    if (n.running->failure().empty()) {
        events_.after(20 * ms, [this, &n, life] { look_after(n, life); });
        return;
    }
    ++counts_.broken_disks;
    kill(n.id);
    events_.after(events_.below(500 * ms), [this, id = n.id] { restart(id); });
}

void group::cut_off(const std::set<raft_id>& those, bool one_way) {
    ++counts_.cuts;
    for (const raft_id inside : those) {
        for (const auto& [outside, n] : nodes_) {
            if (those.contains(outside)) continue;
            cut_.insert({inside, outside});
            if (!one_way) cut_.insert({outside, inside});
        }
    }
}

void group::upset_clock(raft_id id) {
    ++counts_.upset_clocks;
    disturb_clock(events_, *nodes_.at(id).clock);
}

void group::mend_clocks() {
    for (auto& [id, n] : nodes_) {
        if (n.clock) n.clock->run_at(100);
    }
}

void group::heal() { cut_.clear(); }

void group::hand_over() {
    const raft_id by = leader();
    if (by != 0 && nodes_.at(by).running->transfer_leadership([] {})) ++counts_.handed_over;
}

void group::let_one_join() {
    const raft_id by = leader();
    if (by == 0) return;
    const raft_id id = nodes_.rbegin()->first + 1;
    node& n = nodes_[id];
    n.id = id;
    n.in_group = false;
    start(n, false);
    nodes_.at(by).running->admit({id, address(id)}, [this, id](const std::string& why) {
        if (!why.empty()) return;
        nodes_.at(id).in_group = true;
        ++counts_.joins;
    });
}

void group::let_one_leave(raft_id id) {
    const raft_id by = leader();
    if (by == 0) return;
    nodes_.at(by).running->remove(id, [this, id](const std::string& why) {
        if (!why.empty()) return;
        ++counts_.leaves;
        nodes_.at(id).in_group = false;
        events_.after(events_.below(500 * ms), [this, id] {
            if (nodes_.at(id).running) kill(id);
        });
    });
}

void group::ask_who_is_in_it() {
    const raft_id by = leader();
    if (by == 0) return;
    for (auto& [id, n] : nodes_) n.in_group = false;
    for (const raft_node::role& r : nodes_.at(by).running->members()) nodes_.at(r.who.id).in_group = r.votes;
}

std::size_t group::prepared() const {
    std::size_t most = 0;
    for (const auto& [id, n] : nodes_) {
        if (n.running && n.in_group) most = std::max(most, n.running->state().statistics().prepared);
    }
    return most;
}

std::string group::compare() {
    if (leader() == 0) {
        std::string all = std::string{never_ends} + ": nobody leads:";
        for (const auto& [id, n] : nodes_) {
            if (!n.running) continue;
            const raft_node::log_status s = n.running->status();
            all += " " + std::to_string(id) + " (" + std::string{s.role_name} + ", term " + std::to_string(s.term) +
                   ", log to " + std::to_string(s.last_index) + ", of " + std::to_string(n.running->members().size()) +
                   ")";
        }
        return all;
    }
    ask_who_is_in_it();
    const raft_node* first = nullptr;
    for (const auto& [id, n] : nodes_) {
        if (!n.in_group) continue;
        if (!n.running) return std::string{never_ends} + ": member " + std::to_string(id) + " does not run";
        if (!n.running->failure().empty())
            return std::string{never_ends} + ": member " + std::to_string(id) + " gave up: " + n.running->failure();
        if (n.running->state().latest() != reached_) {
            const member leads = n.running->leader();
            return std::string{never_ends} + ": member " + std::to_string(id) + " has applied " +
                   std::to_string(n.running->state().latest()) + " of " + std::to_string(reached_) +
                   " commits, and takes " + std::to_string(leads.id) + " for the leader";
        }
        if (first != nullptr && first->state().save() != n.running->state().save())
            return "two members hold other records";
        first = n.running.get();
    }
    return {};
}

}  // namespace tutti::cluster::replica::testing
