#include "cluster/replica/client.hpp"

#include <algorithm>
#include <set>

namespace tutti::cluster::replica::testing {

using backend::engine_status;
using backend::freshness;

client::client(event_queue& events, group& of, history_checker& truth, unsigned number, habits how)
    : events_{events}, group_{of}, past_{truth}, number_{number}, how_{how}, life_{live()} {}

std::string client::record_text(bool happened) const {
    return "client " + std::to_string(number_) + "'s " + std::to_string(sequence_) + (happened ? " done" : " void");
}

backend::check client::record_unchanged() const {
    return {record_key_, record_at_ == 0 ? backend::unwritten : record_at_};
}

awaited<bool> client::pause(instant how_long) {
    awaited<bool> over;
    events_.after(how_long, [over] { over.set_value(true); });
    return over;
}

void client::switch_member(const answer& a) {
    const std::vector<raft_id> all = group_.members();
    leader_ = a.leader != 0 && events_.chance(80) ? a.leader : all[events_.below(all.size())];
}

task<answer> client::ask(question q) {
    awaited<answer> got;
    events_.after(how_.request_timeout, [got] { got.set_value({}); });
    group_.ask(leader_, std::move(q), [got](answer a) { got.set_value(std::move(a)); });
    co_return co_await got;
}

task<answer> client::get(question q) {
    answer a;
    for (unsigned tries = 0; tries < 8; ++tries) {
        a = co_await ask(q);
        if (a.result.status != engine_status::unreachable) break;
        switch_member(a);
        co_await pause(events_.below(100 * ms));
    }
    co_return a;
}

/// Sends the commit until a member accepts it. If an earlier send may have arrived, a conflict only says that a second
/// commit did not happen.
task<client::outcome> client::commit(question q) {
    bool may_have_arrived = false;
    for (unsigned tries = 0; tries < 8; ++tries) {
        const answer a = co_await ask(q);
        const bool answered = a.result.status != engine_status::unreachable || !a.result.why.empty();
        if (a.result.status == engine_status::good) co_return outcome{engine_status::good, a.result.at};
        if (a.result.status == engine_status::conflict && !may_have_arrived)
            co_return outcome{engine_status::conflict, 0};
        if (a.result.status == engine_status::conflict) break;
        if (!answered || a.result.status == engine_status::unknown) {
            may_have_arrived = true;
            if (events_.chance(50)) break;
            ++resent_;
        }
        switch_member(a);
        co_await pause(events_.below(100 * ms));
    }
    if (may_have_arrived) co_return co_await query_outcome();
    co_return outcome{engine_status::unreachable, 0};
}

task<client::outcome> client::query_outcome() {
    const auto mine = record_text(true);
    for (unsigned tries = 0; tries < how_.tries; ++tries) {
        co_await pause(events_.below(200 * ms));
        question q;
        q.how = freshness::now;
        q.wanted = {record_key_};
        const answer is = co_await get(q);
        if (is.result.status != engine_status::good) continue;
        const backend::record& now = is.found.front();
        if (now.exists && now.bytes == mine) co_return outcome{engine_status::good, now.at};
        if (now.exists && now.bytes == record_text(false)) {
            record_at_ = now.at;
            ++aborted_;
            co_return outcome{engine_status::conflict, 0};
        }
        question abort_request;
        abort_request.is = question::commit;
        abort_request.checks = {record_unchanged()};
        abort_request.writes = {{record_key_, true, record_text(false)}};
        const answer done = co_await ask(abort_request);
        switch_member(done);
        if (done.result.status == engine_status::good) {
            record_at_ = done.result.at;
            ++aborted_;
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
    const std::uint64_t gets = events_.between(1, 3);
    for (std::uint64_t i = 0; i < gets; ++i) {
        question q;
        q.of = state;
        q.how = events_.chance(25) ? freshness::now : freshness::same;
        q.checks = held;
        for (std::uint64_t k = events_.between(1, 2); k > 0; --k) {
            if (const auto [at, fresh] = opened.insert("o" + std::to_string(events_.below(how_.objects))); fresh)
                q.wanted.push_back(*at);
        }
        seen s{.called = events_.now(),
               .fresh = q.how == freshness::now || state.at == 0,
               .before = state.at,
               .held = held,
               .wanted = q.wanted,
               .found = {}};
        answer a = co_await get(q);
        if (a.result.status == engine_status::conflict && !s.fresh) ++outlived_;
        if (a.result.status != engine_status::good) co_return false;
        s.returned = events_.now();
        state = a.of;
        s.at = state.at;
        for (std::size_t k = 0; k < q.wanted.size(); ++k) held.push_back({q.wanted[k], a.found[k].at});
        s.found = std::move(a.found);
        past_.of(attempt_).gets.push_back(std::move(s));
        if (events_.chance(20)) co_await pause(events_.below((events_.chance(20) ? 2000 : 30) * ms));
    }
    if (events_.chance(20)) co_return true;

    if (record_key_.empty()) {
        record_key_ = "m" + std::to_string(number_) + "." + std::to_string(records_made_++);
        record_at_ = 0;
    }
    ++sequence_;
    question q;
    q.is = question::commit;
    q.checks = held;
    for (const backend::key& k : opened) {
        if (events_.chance(40)) continue;
        const bool erases = events_.chance(15);
        q.writes.push_back({k, !erases, erases ? std::string{} : std::to_string(attempt_)});
    }
    q.checks.push_back(record_unchanged());
    q.writes.push_back({record_key_, true, record_text(true)});
    attempt* mine = &past_.of(attempt_);
    mine->checks = q.checks;
    mine->writes = q.writes;
    mine->called = events_.now();
    mine->result = engine_status::unknown;
    const outcome o = co_await commit(std::move(q));
    mine = &past_.of(attempt_);  // other attempts have begun since
    mine->returned = events_.now();
    mine->result = o.result;
    mine->at = o.at;
    if (o.result == engine_status::good) record_at_ = o.at;
    if (o.result == engine_status::unknown) record_key_.clear();
    co_return o.result == engine_status::good;
}

task<bool> client::live() {
    co_await pause(events_.below(300 * ms));
    for (unsigned i = 0; i < how_.attempts; ++i) {
        co_await attempt_once();
        co_await pause(events_.below(200 * ms));
    }
    co_return true;
}

task<bool> client::read_all() {
    question q;
    q.how = freshness::now;
    for (unsigned i = 0; i < how_.objects; ++i) q.wanted.push_back("o" + std::to_string(i));
    attempt_ = past_.begin(number_);
    for (unsigned tries = 0; tries < 20; ++tries) {
        seen s{.called = events_.now(), .held = {}, .wanted = q.wanted, .found = {}};
        answer a = co_await get(q);
        if (a.result.status != engine_status::good) continue;
        s.returned = events_.now();
        s.at = a.of.at;
        s.found = std::move(a.found);
        past_.of(attempt_).gets.push_back(std::move(s));
        co_return true;
    }
    co_return false;
}

}  // namespace tutti::cluster::replica::testing
