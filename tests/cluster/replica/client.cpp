#include "cluster/replica/client.hpp"

#include <algorithm>
#include <set>

namespace tutti::cluster::replica::testing {

using backend::engine_status;
using backend::freshness;

client::client(event_queue& events, group& of, history_checker& truth, unsigned number, habits how)
    : agenda_{events}, group_{of}, past_{truth}, number_{number}, how_{how}, life_{live()} {}

std::string client::told(bool happened) const {
    return "client " + std::to_string(number_) + "'s " + std::to_string(sequence_) + (happened ? " done" : " void");
}

backend::check client::mark_unchanged() const { return {mark_, mark_at_ == 0 ? backend::unwritten : mark_at_}; }

awaited<bool> client::pause(instant how_long) {
    awaited<bool> over;
    agenda_.after(how_long, [over] { over.settle(true); });
    return over;
}

void client::look_elsewhere(const answer& a) {
    const std::vector<raft_id> all = group_.members();
    leader_ = a.leader != 0 && agenda_.chance(80) ? a.leader : all[agenda_.below(all.size())];
}

task<answer> client::ask(question q) {
    awaited<answer> got;
    agenda_.after(how_.patience, [got] { got.settle({}); });
    group_.ask(leader_, std::move(q), [got](answer a) { got.settle(std::move(a)); });
    co_return co_await got;
}

task<answer> client::get(question q) {
    answer a;
    for (unsigned tries = 0; tries < 8; ++tries) {
        a = co_await ask(q);
        if (a.said.status != engine_status::unreachable) break;
        look_elsewhere(a);
        co_await pause(agenda_.below(100 * ms));
    }
    co_return a;
}

/// Sends the commit until a member accepts it. If an earlier send may have arrived, a conflict only says that a second
/// commit did not happen.
task<client::outcome> client::commit(question q) {
    bool may_have_arrived = false;
    for (unsigned tries = 0; tries < 8; ++tries) {
        const answer a = co_await ask(q);
        const bool answered = a.said.status != engine_status::unreachable || !a.said.why.empty();
        if (a.said.status == engine_status::good) co_return outcome{engine_status::good, a.said.at};
        if (a.said.status == engine_status::conflict && !may_have_arrived)
            co_return outcome{engine_status::conflict, 0};
        if (a.said.status == engine_status::conflict) break;
        if (!answered || a.said.status == engine_status::unknown) {
            may_have_arrived = true;
            if (agenda_.chance(50)) break;
            ++resent_;
        }
        look_elsewhere(a);
        co_await pause(agenda_.below(100 * ms));
    }
    if (may_have_arrived) co_return co_await find_out();
    co_return outcome{engine_status::unreachable, 0};
}

task<client::outcome> client::find_out() {
    const auto mine = told(true);
    for (unsigned tries = 0; tries < how_.tries; ++tries) {
        co_await pause(agenda_.below(200 * ms));
        question q;
        q.how = freshness::now;
        q.wanted = {mark_};
        const answer is = co_await get(q);
        if (is.said.status != engine_status::good) continue;
        const backend::record& now = is.found.front();
        if (now.exists && now.bytes == mine) co_return outcome{engine_status::good, now.at};
        if (now.exists && now.bytes == told(false)) {
            mark_at_ = now.at;
            ++voided_;
            co_return outcome{engine_status::conflict, 0};
        }
        question voids;
        voids.is = question::commit;
        voids.checks = {mark_unchanged()};
        voids.writes = {{mark_, true, told(false)}};
        const answer done = co_await ask(voids);
        look_elsewhere(done);
        if (done.said.status == engine_status::good) {
            mark_at_ = done.said.at;
            ++voided_;
            co_return outcome{engine_status::conflict, 0};
        }
    }
    co_return outcome{engine_status::unknown, 0};
}

task<bool> client::attempt_once() {
    attempt_ = past_.begin(number_);
    std::vector<backend::check> held;
    std::set<backend::key> opened;
    backend::read_snapshot state;
    const std::uint64_t gets = agenda_.between(1, 3);
    for (std::uint64_t i = 0; i < gets; ++i) {
        question q;
        q.of = state;
        q.how = agenda_.chance(25) ? freshness::now : freshness::same;
        q.checks = held;
        for (std::uint64_t k = agenda_.between(1, 2); k > 0; --k) {
            if (const auto [at, fresh] = opened.insert("o" + std::to_string(agenda_.below(how_.objects))); fresh)
                q.wanted.push_back(*at);
        }
        seen s{.called = agenda_.now(),
               .fresh = q.how == freshness::now || state.at == 0,
               .before = state.at,
               .held = held,
               .wanted = q.wanted,
               .found = {}};
        answer a = co_await get(q);
        if (a.said.status == engine_status::conflict && !s.fresh) ++outlived_;
        if (a.said.status != engine_status::good) co_return false;
        s.returned = agenda_.now();
        state = a.of;
        s.at = state.at;
        for (std::size_t k = 0; k < q.wanted.size(); ++k) held.push_back({q.wanted[k], a.found[k].at});
        s.found = std::move(a.found);
        past_.of(attempt_).gets.push_back(std::move(s));
        if (agenda_.chance(20)) co_await pause(agenda_.below((agenda_.chance(20) ? 2000 : 30) * ms));
    }
    if (agenda_.chance(20)) co_return true;

    if (mark_.empty()) {
        mark_ = "m" + std::to_string(number_) + "." + std::to_string(marks_++);
        mark_at_ = 0;
    }
    ++sequence_;
    question q;
    q.is = question::commit;
    q.checks = held;
    for (const backend::key& k : opened) {
        if (agenda_.chance(40)) continue;
        const bool erases = agenda_.chance(15);
        q.writes.push_back({k, !erases, erases ? std::string{} : std::to_string(attempt_)});
    }
    q.checks.push_back(mark_unchanged());
    q.writes.push_back({mark_, true, told(true)});
    attempt* mine = &past_.of(attempt_);
    mine->checks = q.checks;
    mine->writes = q.writes;
    mine->called = agenda_.now();
    mine->said = engine_status::unknown;
    const outcome o = co_await commit(std::move(q));
    mine = &past_.of(attempt_);  // other attempts have begun since
    mine->returned = agenda_.now();
    mine->said = o.said;
    mine->at = o.at;
    if (o.said == engine_status::good) mark_at_ = o.at;
    if (o.said == engine_status::unknown) mark_.clear();
    co_return o.said == engine_status::good;
}

task<bool> client::live() {
    co_await pause(agenda_.below(300 * ms));
    for (unsigned i = 0; i < how_.attempts; ++i) {
        co_await attempt_once();
        co_await pause(agenda_.below(200 * ms));
    }
    co_return true;
}

task<bool> client::read_all() {
    question q;
    q.how = freshness::now;
    for (unsigned i = 0; i < how_.objects; ++i) q.wanted.push_back("o" + std::to_string(i));
    attempt_ = past_.begin(number_);
    for (unsigned tries = 0; tries < 20; ++tries) {
        seen s{.called = agenda_.now(), .held = {}, .wanted = q.wanted, .found = {}};
        answer a = co_await get(q);
        if (a.said.status != engine_status::good) continue;
        s.returned = agenda_.now();
        s.at = a.of.at;
        s.found = std::move(a.found);
        past_.of(attempt_).gets.push_back(std::move(s));
        co_return true;
    }
    co_return false;
}

}  // namespace tutti::cluster::replica::testing
