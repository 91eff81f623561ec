#include "cluster/backend/two_phase_commit.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

/// Kills or stops the program if a test requests this.
void raise_if_injected(fault step, int signal) {
    if (injected(step)) static_cast<void>(::raise(signal));
}

}  // namespace

void two_phase_commit::commit(request& r, std::vector<group_request>& requests, std::size_t deciding_group) {
    backoff_timer timer{resolver_.request_timeout(), resolver_.env()};
    prepare_mode mode = injected(fault::groups_one_by_one) ? prepare_mode::in_order : prepare_mode::at_once;
    while (true) {
        const attempt_result attempt = try_commit(r, requests, deciding_group, mode);
        if (attempt == attempt_result::finished) return;
        if (attempt == attempt_result::blocked) mode = prepare_mode::in_order;
        else if (!timer.wait()) return;
    }
}

two_phase_commit::attempt_result two_phase_commit::try_commit(request& r, std::vector<group_request>& requests,
                                                              std::size_t deciding_group, prepare_mode mode) {
    // The id is random, because two transactions with the same id would treat each other's parts as their own.
    const blocking_transaction transaction{resolver_.env().random_id(), groups_[deciding_group].group->number()};
    const auto started = resolver_.env().now();
    std::vector<std::size_t> prepared;
    bool blocked = false;
    r.status = engine_status::good;
    const bool is_prepared = mode == prepare_mode::at_once
                                 ? prepare_at_once(r, requests, transaction, prepared, blocked)
                                 : prepare_in_order(r, requests, transaction, prepared);
    if (is_prepared) {
        raise_if_injected(fault::killed_when_prepared, SIGKILL);
        raise_if_injected(fault::stopped_when_prepared, SIGSTOP);
        decide(r, *std::ranges::find(requests, deciding_group, &group_request::group), transaction, prepared);
        raise_if_injected(fault::killed_when_decided, SIGKILL);
    }
    const bool answer_lost = r.status == engine_status::unknown && !is_prepared;
    if (answer_lost) r.status = engine_status::unreachable;
    // If the result is unknown, the parts stay prepared. Programs that a part blocks read the decision's record, and
    // finish the transaction.
    if (r.status == engine_status::unknown) return attempt_result::finished;
    const bool commits = r.status == engine_status::good;
    const bool all_finished = finish(prepared, transaction.id, commits);
    // So soon after the start, no other program has written a decision that aborts the transaction. So there is no
    // record to forget.
    const bool nobody_aborted = !commits && resolver_.env().now() - started < prepared_resolver::grace / 2;
    if (all_finished && !nobody_aborted) resolver_.forget_decision(deciding_group, transaction.id);
    return answer_lost ? attempt_result::answer_lost : blocked ? attempt_result::blocked : attempt_result::finished;
}

bool two_phase_commit::prepare_at_once(request& r, const std::vector<group_request>& requests,
                                       const blocking_transaction& transaction, std::vector<std::size_t>& prepared,
                                       bool& blocked) {
    struct pending_prepare {
        std::size_t group = 0;
        request own_request;
        std::function<void()> wait;
    };
    std::vector<pending_prepare> all;
    all.reserve(requests.size());  // reserved, so that the elements keep their addresses
    for (const group_request& s : requests) {
        if (groups_[s.group].group->number() == transaction.deciding_group) continue;
        pending_prepare& one = all.emplace_back(pending_prepare{s.group, s.as_request(), {}});
        one.wait = groups_[s.group].group->begin_prepare(transaction, one.own_request, resolver_.request_timeout());
    }
    bool failed = false;
    for (pending_prepare& one : all) {
        one.wait();
        const engine_status status = one.own_request.status;
        if (status == engine_status::good || status == engine_status::unknown) prepared.push_back(one.group);
        if (status == engine_status::good) continue;
        const bool is_blocked = status == engine_status::conflict && one.own_request.blocked_by;
        const bool is_final = !is_blocked && status != engine_status::unknown;
        blocked |= is_blocked;
        // A final failure takes precedence over a failure that leads to a restart, in whatever order the groups answer.
        if (failed || (!is_final && r.status != engine_status::good)) continue;
        failed = is_final;
        r.status = status;
        r.reason = one.own_request.reason;
    }
    blocked &= !failed;
    return r.status == engine_status::good;
}

bool two_phase_commit::prepare_in_order(request& r, const std::vector<group_request>& requests,
                                        const blocking_transaction& transaction, std::vector<std::size_t>& prepared) {
    resolution_wait resolution{resolver_};
    for (const group_request& s : requests) {
        if (groups_[s.group].group->number() == transaction.deciding_group) continue;
        request own_request = s.as_request();
        prepared.push_back(s.group);  // the group counts as prepared even if its answer is lost
        while (true) {
            groups_[s.group].group->begin_prepare(transaction, own_request, resolver_.request_timeout())();
            r.status = own_request.status;
            if (own_request.status == engine_status::good) break;
            r.reason = own_request.reason;
            if (own_request.status != engine_status::conflict || !own_request.blocked_by) return false;
            r.status = engine_status::unreachable;
            if (!resolution.wait(own_request.blocked_by, s.group)) return false;
        }
    }
    return true;
}

void two_phase_commit::decide(request& r, group_request s, const blocking_transaction& transaction,
                              const std::vector<std::size_t>& prepared) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t p : prepared) numbers.push_back(groups_[p].group->number());
    if (!injected(fault::decision_unrecorded)) {
        s.checks.push_back({decision::key_of(transaction.id), unwritten});
        s.writes.push_back({decision::key_of(transaction.id), true, decision::committed(numbers)});
    }
    request own_request = s.as_request();
    resolution_wait resolution{resolver_};
    do {
        groups_[s.group].request_engine->commit(own_request);
        r.status = own_request.status;
        r.at = own_request.at;
        r.reason = own_request.reason;
        if (own_request.status != engine_status::conflict || !own_request.blocked_by) return;
        if (std::ranges::any_of(prepared, [&](std::size_t p) { return p > s.group; })) return;  // XGC3
        r.status = engine_status::unreachable;
    } while (resolution.wait(own_request.blocked_by, s.group));
}

bool two_phase_commit::finish(const std::vector<std::size_t>& prepared, const std::string& id, bool commits) {
    std::vector<std::function<bool()>> all;
    bool answered = true;
    for (const std::size_t p : prepared) {
        all.push_back(groups_[p].group->begin_finish(id, commits, resolver_.request_timeout()));
        if (injected(fault::groups_one_by_one)) answered &= std::exchange(all.back(), [] { return true; })();
    }
    for (const std::function<bool()>& wait : all) answered &= wait();
    return answered;
}

}  // namespace tutti::cluster::backend
