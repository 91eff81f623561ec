#include "cluster/backend/crossing.hpp"

#include <algorithm>
#include <csignal>

#include "cluster/backend/fault.hpp"

namespace tutti::cluster::backend {
namespace {

/// A test has the program end here, or stand still.
void come_to(fault step, int signal) {
    if (broken(step)) static_cast<void>(::raise(signal));
}

}  // namespace

void crossing::commit(request& r, std::vector<share>& shares, std::size_t decides) {
    tries all{others_.patience(), others_.by()};
    while (!try_commit(r, shares, decides) && all.again()) {}
}

bool crossing::try_commit(request& r, std::vector<share>& shares, std::size_t decides) {
    // Two that draw the same name would take each other's parts for their own.
    const holder who{others_.by().draw_name(), parts_[decides].group->number()};
    const auto begun = others_.by().now();
    meeting waits{others_};
    std::vector<std::size_t> prepared;
    share* own = nullptr;
    r.said = verdict::good;
    for (share& s : shares) {
        if (s.part == decides) {
            own = &s;
            continue;
        }
        prepared.push_back(s.part);  // also where the answer is lost
        if (!prepare(r, s, who, waits)) break;
    }
    const bool asked = r.said == verdict::good;
    if (asked) {
        come_to(fault::killed_when_prepared, SIGKILL);
        come_to(fault::stopped_when_prepared, SIGSTOP);
        decide(r, *own, who, prepared, waits);
        come_to(fault::killed_when_decided, SIGKILL);
    }
    const bool lost = r.said == verdict::unknown && !asked;
    if (lost) r.said = verdict::unreachable;
    // Programs that meet a part of it read the record, and finish it.
    if (r.said == verdict::unknown) return true;
    const bool commits = r.said == verdict::good;
    bool all = true;
    for (const std::size_t p : prepared) all &= parts_[p].group->finish(who.id, commits, others_.patience());
    // No program voids one so soon.
    const bool none = !commits && others_.by().now() - begun < settling::grace / 2;
    if (all && !none) others_.forget_decision(decides, who.id);
    return !lost;
}

bool crossing::prepare(request& r, const share& s, const holder& who, meeting& waits) {
    request mine = s.as_request();
    do {
        parts_[s.part].group->prepare(who, mine, others_.patience());
        r.said = mine.said;
        if (mine.said == verdict::good) return true;
        r.why = mine.why;
        if (mine.said != verdict::conflict || !mine.met) return false;
        r.said = verdict::unreachable;
    } while (waits.wait(mine.met, s.part));
    return false;
}

void crossing::decide(request& r, share& s, const holder& who, const std::vector<std::size_t>& prepared,
                      meeting& waits) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t p : prepared) numbers.push_back(parts_[p].group->number());
    if (!broken(fault::decision_unrecorded)) {
        s.checks.push_back({decision::key_of(who.id), 0});
        s.writes.push_back({decision::key_of(who.id), true, decision::committed(numbers)});
    }
    request mine = s.as_request();
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

}  // namespace tutti::cluster::backend
