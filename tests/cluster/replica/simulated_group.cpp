#include "cluster/replica/simulated_group.hpp"

namespace tutti::cluster::replica::testing {

using backend::engine_status;

void simulated_env::pause(std::chrono::milliseconds how_long) const {
    stack_.await<bool>([&](const std::function<void(bool)>& over) {
        events_.after(clock_.time_to(static_cast<instant>(how_long.count()) * ms), [over] { over(true); });
    });
}

simulated_group::simulated_group(event_queue& events, simulated_stack& by, group& of, std::uint64_t number,
                                 const backend::runtime_env& env, instant request_timeout, instant for_all)
    : events_{events},
      stack_{by},
      group_{of},
      number_{number},
      env_{env},
      request_timeout_{request_timeout},
      for_all_{for_all} {
    abilities_.name = "the group at " + std::to_string(number);
    abilities_.keeps_old_versions = abilities_.drops_erased = true;
}

simulated_stack::promise<answer> simulated_group::send(const question& q) {
    return stack_.ask<answer>([&](const std::function<void(answer)>& back) {
        events_.after(request_timeout_, [back] { back({}); });
        group_.ask(leader_, q, back);
    });
}

simulated_group::asked simulated_group::begin(question q) {
    asked a{std::move(q), events_.now() + for_all_, {}};
    a.first = send(a.what);
    return a;
}

answer simulated_group::end(const asked& of, bool twice) {
    answer a;
    simulated_stack::promise<answer> comes = of.first;
    do {
        if (!comes) comes = send(of.what);
        a = stack_.wait_for(comes);
        comes.reset();
        if (a.result.status == engine_status::good || a.result.status == engine_status::conflict) return a;
        const bool answered = a.result.status == engine_status::unreachable && !a.result.why.empty();
        if (!answered && !twice) {
            a.result.status = engine_status::unknown;
            return a;
        }
        const std::vector<raft_id> all = group_.members();
        leader_ = a.leader != 0 && events_.chance(80) ? a.leader : all[events_.below(all.size())];
        env_.pause(std::chrono::milliseconds{events_.below(50)});
    } while (events_.now() < of.late);
    a.result.status = engine_status::unreachable;
    return a;
}

engine_status simulated_group::get(backend::read_snapshot& of, backend::freshness how,
                                   std::span<const backend::check> held, std::span<const key> wanted,
                                   std::vector<backend::record>& found) {
    question q;
    q.of.at = of.at;
    q.how = how;
    const bool back = how == backend::freshness::same && of.at != 0;
    if (!back) q.checks.assign(held.begin(), held.end());
    // Every member that has this state may show it. The program may also have learned of another leader meanwhile.
    if (const std::vector<raft_id> all = group_.members(); back && events_.chance(40))
        leader_ = all[events_.below(all.size())];
    q.wanted.assign(wanted.begin(), wanted.end());
    answer a = end(begin(std::move(q)), true);
    of.blocked_by = a.of.blocked_by;
    if (a.result.status != engine_status::good) return a.result.status;
    of.at = a.of.at;
    found = std::move(a.found);
    return engine_status::good;
}

std::function<void()> simulated_group::begin_to_decide(backend::request& r, question q) {
    q.checks.assign(r.checks.begin(), r.checks.end());
    q.writes.assign(r.writes.begin(), r.writes.end());
    return [this, &r, of = begin(std::move(q))] {
        const answer a = end(of, false);
        r.status = a.result.status;
        r.at = a.result.at;
        r.blocked_by = a.result.blocked_by;
    };
}

void simulated_group::commit(backend::request& r) {
    question q;
    q.is = question::commit;
    begin_to_decide(r, std::move(q))();
}

std::function<void()> simulated_group::begin_prepare(const backend::blocking_transaction& who, backend::request& r,
                                                     std::chrono::milliseconds) {
    question q;
    q.is = question::prepare;
    q.who = who;
    return begin_to_decide(r, std::move(q));
}

std::function<bool()> simulated_group::begin_finish(const std::string& id, bool commits, std::chrono::milliseconds) {
    question q;
    q.is = question::finish;
    q.who.id = id;
    q.committed = commits;
    return [this, of = begin(std::move(q))] { return end(of, true).result.status == engine_status::good; };
}

engine_status simulated_group::list(backend::list_cursor& from, const backend::slot_set& slots,
                                    std::vector<backend::change>& found) {
    question q;
    q.is = question::list;
    q.slots = slots;
    q.from = from;
    const answer a = end(begin(std::move(q)), true);
    if (a.result.status != engine_status::good) return engine_status::unreachable;
    const backend::version begun = from.as_of;
    from = a.place;
    if (begun != 0) from.as_of = begun;
    found.insert(found.end(), a.listed.begin(), a.listed.end());
    return engine_status::good;
}

engine_status simulated_group::list_changes(backend::list_cursor& from, const backend::slot_set& slots,
                                            std::vector<backend::change>& found) {
    question q;
    q.is = question::changed;
    q.slots = slots;
    q.of.at = from.as_of;
    const answer a = end(begin(std::move(q)), true);
    if (a.result.status != engine_status::good) return a.result.status;
    from.as_of = a.place.as_of;
    from.is_finished = a.place.is_finished;
    from.absence = a.place.absence;
    found.insert(found.end(), a.listed.begin(), a.listed.end());
    return engine_status::good;
}

void simulated_group::import_records(backend::request& r, std::span<const backend::change> records,
                                     backend::version absence) {
    question q;
    q.is = question::import_records;
    q.imported.assign(records.begin(), records.end());
    q.absence = absence;
    begin_to_decide(r, std::move(q))();
}

void simulated_group::forget(std::span<const key> all) noexcept {
    if (!stack_.runs()) return;  // killed
    question q;
    q.is = question::forget;
    q.wanted.assign(all.begin(), all.end());
    group_.ask(leader_, std::move(q), [](const answer&) {});
}

}  // namespace tutti::cluster::replica::testing
