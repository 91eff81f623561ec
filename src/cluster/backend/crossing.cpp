#include "cluster/backend/crossing.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <utility>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

/// Ends or stops the program here, for a test.
void come_to(fault step, int signal) {
    if (injected(step)) static_cast<void>(::raise(signal));
}

}  // namespace

void crossing::commit(request& r, std::vector<share>& shares, std::size_t decides) {
    tries all{others_.patience(), others_.by()};
    how asks = injected(fault::in_turn) ? how::in_order : how::at_once;
    while (true) {
        const ending came = try_commit(r, shares, decides, asks);
        if (came == ending::over) return;
        if (came == ending::met) asks = how::in_order;
        else if (!all.again()) return;
    }
}

crossing::ending crossing::try_commit(request& r, std::vector<share>& shares, std::size_t decides, how asks) {
    // Two transactions with the same name would take each other's parts for their own.
    const holder who{others_.by().draw_name(), parts_[decides].group->number()};
    const auto begun = others_.by().now();
    std::vector<std::size_t> prepared;
    bool met = false;
    r.said = verdict::good;
    const bool asked = asks == how::at_once ? prepare_at_once(r, shares, who, prepared, met)
                                            : prepare_in_order(r, shares, who, prepared);
    if (asked) {
        come_to(fault::killed_when_prepared, SIGKILL);
        come_to(fault::stopped_when_prepared, SIGSTOP);
        decide(r, *std::ranges::find(shares, decides, &share::part), who, prepared);
        come_to(fault::killed_when_decided, SIGKILL);
    }
    const bool lost = r.said == verdict::unknown && !asked;
    if (lost) r.said = verdict::unreachable;
    // Programs that meet one of its parts read the record, and finish the transaction.
    if (r.said == verdict::unknown) return ending::over;
    const bool commits = r.said == verdict::good;
    const bool all = finish(prepared, who.id, commits);
    // No program voids a transaction so early.
    const bool none = !commits && others_.by().now() - begun < settling::grace / 2;
    if (all && !none) others_.forget_decision(decides, who.id);
    return lost ? ending::lost : met ? ending::met : ending::over;
}

bool crossing::prepare_at_once(request& r, const std::vector<share>& shares, const holder& who,
                               std::vector<std::size_t>& prepared, bool& met) {
    struct under_way {
        std::size_t part = 0;
        request mine;
        std::function<void()> wait;
    };
    std::vector<under_way> all;
    all.reserve(shares.size());  // so that the elements stay at their addresses
    for (const share& s : shares) {
        if (parts_[s.part].group->number() == who.decides) continue;
        under_way& one = all.emplace_back(under_way{s.part, s.as_request(), {}});
        one.wait = parts_[s.part].group->begin_prepare(who, one.mine, others_.patience());
    }
    bool over = false;
    for (under_way& one : all) {
        one.wait();
        const verdict said = one.mine.said;
        if (said == verdict::good || said == verdict::unknown) prepared.push_back(one.part);
        if (said == verdict::good) continue;
        const bool waits = said == verdict::conflict && one.mine.met;
        const bool ends = !waits && said != verdict::unknown;
        met |= waits;
        // A final failure takes precedence over one that leads to a restart, whichever group reports first.
        if (over || (!ends && r.said != verdict::good)) continue;
        over = ends;
        r.said = said;
        r.why = one.mine.why;
    }
    met &= !over;
    return r.said == verdict::good;
}

bool crossing::prepare_in_order(request& r, const std::vector<share>& shares, const holder& who,
                                std::vector<std::size_t>& prepared) {
    meeting waits{others_};
    for (const share& s : shares) {
        if (parts_[s.part].group->number() == who.decides) continue;
        request mine = s.as_request();
        prepared.push_back(s.part);  // also if the answer is lost
        while (true) {
            parts_[s.part].group->begin_prepare(who, mine, others_.patience())();
            r.said = mine.said;
            if (mine.said == verdict::good) break;
            r.why = mine.why;
            if (mine.said != verdict::conflict || !mine.met) return false;
            r.said = verdict::unreachable;
            if (!waits.wait(mine.met, s.part)) return false;
        }
    }
    return true;
}

void crossing::decide(request& r, share s, const holder& who, const std::vector<std::size_t>& prepared) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t p : prepared) numbers.push_back(parts_[p].group->number());
    if (!injected(fault::decision_unrecorded)) {
        s.checks.push_back({decision::key_of(who.id), unwritten});
        s.writes.push_back({decision::key_of(who.id), true, decision::committed(numbers)});
    }
    request mine = s.as_request();
    meeting waits{others_};
    do {
        parts_[s.part].asked->commit(mine);
        r.said = mine.said;
        r.at = mine.at;
        r.why = mine.why;
        if (mine.said != verdict::conflict || !mine.met) return;
        if (std::ranges::any_of(prepared, [&](std::size_t p) { return p > s.part; })) return;  // X3
        r.said = verdict::unreachable;
    } while (waits.wait(mine.met, s.part));
}

bool crossing::finish(const std::vector<std::size_t>& prepared, const std::string& id, bool commits) {
    std::vector<std::function<bool()>> all;
    bool answered = true;
    for (const std::size_t p : prepared) {
        all.push_back(parts_[p].group->begin_finish(id, commits, others_.patience()));
        if (injected(fault::in_turn)) answered &= std::exchange(all.back(), [] { return true; })();
    }
    for (const std::function<bool()>& wait : all) answered &= wait();
    return answered;
}

}  // namespace tutti::cluster::backend
