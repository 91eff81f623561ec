#include "cluster/replica/groups_world.hpp"

#include <algorithm>
#include <map>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/fault_schedule.hpp"
#include "cluster/replica/world.hpp"

namespace tutti::cluster::replica::testing {

using backend::engine_status;
using cluster::testing::writer_tag;

groups_plan groups_of_seed(std::uint64_t seed) {
    event_queue dice{seed * 0xd1342543de82ef95ULL};
    groups_plan p;
    p.seed = seed;
    p.how = of_seed(seed).how;
    p.how.members = dice.chance(80) ? 3 : 1;
    p.groups = static_cast<unsigned>(dice.between(2, 3));
    p.clients = static_cast<unsigned>(dice.between(2, 5));
    p.habits.objects = static_cast<unsigned>(dice.between(3, 10));
    p.habits.attempts = static_cast<unsigned>(dice.between(8, 20));
    p.habits.answer = dice.between(100, 400) * ms;
    p.habits.request_timeout = dice.between(300, 2500) * ms;
    p.kills_of_100 = static_cast<unsigned>(dice.between(10, 80));
    p.habits.first = p.groups;
    if (dice.chance(40)) {
        p.movers = static_cast<unsigned>(dice.between(1, 2));
        p.moves = static_cast<unsigned>(dice.between(3, 12));
        p.habits.first = dice.chance(10) ? 1 : static_cast<unsigned>(dice.between(2, p.groups));
        // As in of_seed, an entry has to fit. Here an entry may contain the data of many slots.
        if (p.how.history.writes < history_window{}.writes) p.how.history.writes = dice.between(150, 250);
    }
    return p;
}

groups_world::groups_world(const groups_plan& p) : plan_{p}, events_{p.seed} {
    for (unsigned i = 0; i < p.groups; ++i) {
        pasts_.push_back(std::make_unique<history_checker>());
        groups_.push_back(std::make_unique<group>(events_, *pasts_.back(), p.how));
    }
    for (unsigned i = 0; i <= p.clients; ++i)
        clients_.push_back(std::make_unique<crossing_client>(events_, groups_, history_, p.habits));
    for (unsigned i = 0; i < p.movers; ++i) {
        const moving_client::habits its{p.habits.objects, p.habits.first, p.moves, p.habits.answer,
                                        p.habits.request_timeout};
        movers_.push_back(std::make_unique<moving_client>(events_, groups_, its));
    }
}

std::string groups_world::noticed() const {
    for (const auto& g : groups_) {
        if (!g->wrong().empty()) return g->wrong();
    }
    for (const auto& c : clients_) {
        if (!c->wrong().empty()) return c->wrong();
    }
    return {};
}

bool groups_world::run_until(instant when, const std::function<bool()>& done) {
    while (!done() && noticed().empty() && events_.now() < when) {
        if (!events_.step()) return false;
    }
    return done() && noticed().empty();
}

/// Prefers a client in the middle of a commit, where a fault hurts most.
crossing_client& groups_world::a_client() {
    crossing_client* one = nullptr;
    for (unsigned tries = 0; tries < 4 && (one == nullptr || !one->commits()); ++tries)
        one = clients_[1 + events_.below(plan_.clients)].get();
    return *one;
}

void groups_world::hurt_mover(moving_client& one) {
    if (events_.chance(20)) {
        ++upset_clocks_;
        disturb_clock(events_, one.clock());
    } else if (events_.chance(50)) {
        one.stop_until(events_.now() + events_.between(50, 2500) * ms);
    } else if (one.kill()) {
        ++movers_killed_;
        events_.after(events_.below(400 * ms), [&one] { one.start(); });
    }
}

void groups_world::trouble() {
    if (events_.now() > plan_.trouble) return;
    if (!movers_.empty() && events_.chance(30)) {
        hurt_mover(*movers_[events_.below(movers_.size())]);
    } else if (events_.chance(plan_.kills_of_100)) {
        crossing_client& one = a_client();
        if (events_.chance(20)) {
            ++upset_clocks_;
            disturb_clock(events_, one.clock());
        } else if (events_.chance(40)) {
            ++stopped_;
            one.stop_until(events_.now() + events_.between(50, 2500) * ms);
        } else if (one.kill()) {
            ++killed_;
            events_.after(events_.below(400 * ms), [&one] { one.start(); });
        }
    } else {
        inject_fault(events_, *groups_[events_.below(groups_.size())], false);
    }
    events_.after(events_.between(20, 500) * ms, [this] { trouble(); });
}

std::string groups_world::judge_writes() {
    std::map<writer_tag, std::map<key, unsigned>> done;
    for (const auto& p : pasts_) {
        for (const auto& [at, changes] : p->done()) {
            for (const backend::change& c : changes) {
                if (c.of.starts_with("o")) ++done[std::stoull(c.value.bytes)][c.of];
            }
        }
    }
    for (const auto& c : clients_) {
        for (const crossing_client::attempt_outcome& t : c->outcomes()) {
            const std::map<key, unsigned>& its = done[t.tag];
            const std::string name = "attempt " + std::to_string(t.tag);
            if (std::ranges::any_of(its, [](const auto& one) { return one.second > 1; }))
                return name + " was written twice";
            if (!its.empty() && its.size() != t.writes.size())
                return name + " happened by halves: " + std::to_string(its.size()) + " of " +
                       std::to_string(t.writes.size()) + " objects";
            if (t.result == engine_status::good && its.empty()) return name + " was acknowledged, and is lost";
            if ((t.result == engine_status::conflict || t.result == engine_status::unreachable) && !its.empty())
                return name + " was reported without effect, and has had one";
            cluster::testing::attempt& a = history_.of(t.tag);
            a.committed = !its.empty();
            if (!a.committed) continue;
            for (const key& k : t.writes) a.writes.push_back({0, std::stoull(k.substr(1))});
        }
    }
    return history_.judge();
}

std::string groups_world::run() {
    const auto ended = [this] {
        return std::all_of(clients_.begin() + 1, clients_.end(), [](const auto& c) { return c->done(); }) &&
               std::ranges::all_of(movers_, [](const auto& m) { return m->done(); });
    };
    for (std::size_t i = 1; i < clients_.size(); ++i) clients_[i]->start();
    for (const auto& m : movers_) m->start();
    events_.after(events_.below(300 * ms), [this] { trouble(); });
    // A killed program starts anew, so a program that is done counts only after the fault period.
    (void)run_until(plan_.trouble + 2000 * ms, [] { return false; });
    for (const auto& g : groups_) heal(*g);
    for (const auto& c : clients_) c->clock().run_at(100);
    for (const auto& m : movers_) m->clock().run_at(100);
    bool well = run_until(events_.now() + 120000 * ms, ended);
    if (well) {
        clients_.front()->start_last_look();
        well = run_until(events_.now() + 120000 * ms, [this] { return clients_.front()->done(); });
    }
    if (std::string wrong = noticed(); !wrong.empty()) return wrong;
    if (std::string wrong = judge_writes(); !wrong.empty()) return wrong;
    if (!well) return never_ends;
    if (std::ranges::any_of(clients_.front()->owners(), [](unsigned n) { return n != 1; }))
        return "a slot has no group, or two";
    (void)run_until(events_.now() + 2000 * ms, [] { return false; });
    for (const auto& g : groups_) {
        if (g->prepared() != 0) return left_prepared;
        if (std::string differs = g->compare(); !differs.empty() && !differs.starts_with(never_ends)) return differs;
    }
    return noticed();
}

groups_world::counts groups_world::happened() const {
    counts all;
    all.attempts = history_.attempts().size();
    all.killed = killed_;
    all.stopped = stopped_;
    all.upset_clocks = upset_clocks_;
    all.movers_killed = movers_killed_;
    for (const auto& m : movers_) {
        all.moved += m->happened().moved;
        all.moves_lost += m->happened().elsewhere + m->happened().unreachable;
        all.copied_again += m->happened().again;
    }
    for (const auto& c : clients_) {
        all.crossings += c->crossings();
        for (const crossing_client::attempt_outcome& t : c->outcomes()) {
            all.good += t.result == engine_status::good ? 1 : 0;
            all.conflicts += t.result == engine_status::conflict ? 1 : 0;
            all.unreachable += t.result == engine_status::unreachable ? 1 : 0;
            all.unknown += t.result == engine_status::unknown ? 1 : 0;
            // Counts the commits of which the program has not heard.
            all.finished_by_others +=
                t.result == engine_status::unknown && history_.attempts()[t.tag - 1].committed ? 1 : 0;
        }
    }
    for (const auto& p : pasts_) {
        for (const auto& [at, changes] : p->done())
            all.aborted += std::ranges::any_of(changes, [](const auto& c) { return c.value.bytes == "void"; }) ? 1 : 0;
    }
    for (const auto& g : groups_) {
        const group::counts c = g->happened();
        all.groups.kills += c.kills;
        all.groups.elections += c.elections;
        all.groups.installs += c.installs;
        all.groups.upset_clocks += c.upset_clocks;
    }
    return all;
}

std::string run_seed(std::uint64_t seed) {
    try {
        groups_world w{groups_of_seed(seed)};
        return w.run();
    } catch (const backend::engine_error& r) {  // a member refuses data that another one has saved
        return r.what();
    }
}

}  // namespace tutti::cluster::replica::testing
