#include "cluster/protocol/admission.hpp"

#include <algorithm>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t bytes_of_place = 26, bytes_around = 64;

}  // namespace

template <class Message>
void admission::say(node_number to, wire::message_type kind, Message what, const std::vector<wire::owner_update>& all) {
    const std::size_t room = site_.largest > bytes_around ? (site_.largest - bytes_around) / bytes_of_place : 0;
    const std::size_t most = std::clamp<std::size_t>(room, 1, wire::max_elements);
    what.list.parts = static_cast<std::uint32_t>(std::max<std::size_t>((all.size() + most - 1) / most, 1));
    for (std::uint32_t i = 0; i < what.list.parts; ++i) {
        const std::size_t first = i * most, last = std::min(first + most, all.size());
        what.list.part = i;
        what.list.places.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                                all.begin() + static_cast<std::ptrdiff_t>(last));
        gate_.say(to, kind, wire::encode(what));
    }
}

bool admission::add(incoming& to, std::uint64_t of, wire::list_part&& list) {
    if (to.of != of || to.parts != list.parts) to = {of, list.parts, std::vector<bool>(list.parts), {}};
    if (to.came[list.part]) return false;  // the part has come twice
    to.came[list.part] = true;
    to.places.insert(to.places.end(), list.places.begin(), list.places.end());
    return std::ranges::find(to.came, false) == to.came.end();
}

void admission::begin(const std::vector<bool>& serving) {
    const std::lock_guard hold{guard_};
    joining_ = true;
    of_homes_.resize(site_.nodes);
    for (node_number n = 0; n < site_.nodes; ++n) {
        if (n == site_.self) continue;
        site_.objects.await(n);
        others_[n].has_served = serving[n];
    }
}

void admission::repeat() {
    const std::lock_guard hold{guard_};
    wire::rejoin_request ask;
    if (!opened_) {
        ask.round = round_;
        for (node_number n = 0; n < site_.nodes; ++n) ask.processes.push_back(gate_.process_of(n));
        if (injected(fault::answer_before_surveys)) {
            era_ = 1;
            return open();
        }
    }
    for (node_number n = 0; n < site_.nodes; ++n) {
        const other& o = others_[n];
        if (n == site_.self || o.is_gone) continue;
        if (!opened_) {
            if (!o.has_said) gate_.say(n, wire::message_type::rejoin_request, wire::encode(ask));
        } else if (!o.has_admitted) {
            say(n, wire::message_type::rejoin_done, wire::rejoin_done{era_, version_, {}}, of_homes_[n]);
        }
    }
}

/// REQUIRES: the caller holds the lock. Another thread may mark a node as lost without the lock, but this ends no wait.
/// All other changes need the lock.
bool admission::is_awaited(node_number n) const noexcept {
    return n != site_.self && !others_[n].is_gone && site_.objects.is_lost(n);
}

/// REQUIRES: the caller holds the lock.
bool admission::is_over() const noexcept {
    if (!opened_) return false;
    for (node_number n = 0; n < site_.nodes; ++n) {
        if (is_awaited(n)) return false;
    }
    return true;
}

bool admission::await(base::deadline until) {
    std::unique_lock hold{guard_};
    changed_.wait_until(hold, until, [this] { return gone_ || is_over() || round_ != awaited_round_; });
    return std::exchange(awaited_round_, round_) != round_;
}

bool admission::over() {
    const std::lock_guard hold{guard_};
    if (!is_over()) return false;
    joining_ = false;
    return true;
}

std::optional<node_number> admission::gone() {
    const std::lock_guard hold{guard_};
    return gone_;
}

std::uint64_t admission::version() {
    const std::lock_guard hold{guard_};
    return version_;
}

std::vector<node_number> admission::awaited() {
    const std::lock_guard hold{guard_};
    std::vector<node_number> all;
    for (node_number n = 0; n < site_.nodes; ++n) {
        if (is_awaited(n)) all.push_back(n);
    }
    return all;
}

void admission::lose(node_number node) {
    const std::lock_guard hold{guard_};
    other& o = others_[node];
    if (joins() && o.has_served && !gone_) gone_ = node;
    o.is_gone = joining_;
    o.has_admitted = o.serves = false;
    changed_.notify_all();
    o.has_said = false;
    o.asked_again = 0;
    o.list = {};
}

bool admission::hear(const wire::header& h, std::string_view body) {
    const auto told = [&]<class Message>(Message&& m, auto&& then) {
        return wire::decode(body, m) && h.from < site_.nodes && h.from != site_.self && then(std::move(m));
    };
    const auto sound = [&](const wire::list_part& list) {
        return list.part < list.parts && list.parts <= wire::max_elements &&
               std::ranges::all_of(
                   list.places,
                   [&](const wire::owner_update& p) {
                       return p.owner < site_.nodes && p.version <= site_.clock.now();
                   });
    };
    const std::lock_guard hold{guard_};
    switch (h.type) {
        case wire::message_type::rejoin_request:
            return told(wire::rejoin_request{}, [&](wire::rejoin_request&& m) { return hear_gather(h.from, m); });
        case wire::message_type::ownership_report:
            return told(wire::ownership_report{},
                        [&](wire::ownership_report&& m) { return sound(m.list) && hear_survey(h.from, std::move(m)); });
        case wire::message_type::rejoin_done:
            return told(wire::rejoin_done{}, [&](wire::rejoin_done&& m) {
                return sound(m.list) && m.version <= site_.clock.now() && hear_opened(h.from, std::move(m));
            });
        default: return told(wire::rejoin_ack{}, [&](wire::rejoin_ack&& m) { return hear_admitted(h.from, m); });
    }
}

/// Handles a gather. Sends nothing if it is too early for a survey; the new process will ask again.
bool admission::hear_gather(node_number from, const wire::rejoin_request& asked) {
    if (asked.processes.size() != site_.nodes) return false;
    if (!site_.objects.is_lost(from)) return true;  // the gather belongs to an earlier round
    others_[from].is_gone = false;
    for (node_number n = 0; n < site_.nodes; ++n) {
        const std::uint64_t mine = n == from || n == site_.self ? 0 : gate_.process_of(n);
        if (mine != 0 && mine != asked.processes[n]) return true;  // B2
    }
    if (site_.tied.with_lost()) return true;            // B2
    if (!site_.votes.end_inquiries(from)) return true;  // V8
    if (other& o = others_[from]; asked.round > 1) {
        if (o.asked_again != asked.round) {
            const auto turn = site_.tied.turn_over();
            if (!turn) return true;
            o.asked_again = asked.round;
            o.turn = *turn;
        }
        if (!site_.tied.have_ended(o.turn)) return true;  // B5
    }
    site_.readers.expect(from);
    // B4. This process may have come back later than the lost process, and be the only one that is left. Then no node
    // has told this process the lost process's era. But this process's own era is above all eras that it was told on
    // its return.
    const std::uint64_t era = std::max(others_[from].era, era_);
    say(from, wire::message_type::ownership_report, wire::ownership_report{asked.round, ++surveys_, era, {}},
        site_.objects.survey());
    return true;
}

bool admission::hear_survey(node_number from, wire::ownership_report&& told) {
    other& o = others_[from];
    if (told.round > round_ || told.era > most_eras) return false;
    if (!joins() || o.has_said || told.round != round_ || !add(o.list, told.number, std::move(told.list))) return true;
    o.has_said = true;
    era_ = std::max(era_, told.era + 1);
    for (node_number n = 0; n < site_.nodes; ++n) {
        if (n != site_.self && !others_[n].has_said) return true;
    }
    settle();
    return true;
}

/// Evaluates the surveys of a round. A node that says that it has an object still has it, or has given it away since
/// and keeps the pointer. If all nodes only have pointers to an object, consider the node that the latest pointer
/// names. A commit of that node has taken the object, and had begun when the survey was sent. So in the next round
/// (B5), that node has the object, has left a later pointer, or has forgotten the object. In the last case, it had done
/// so before the former process was lost, and had told that process what it knew (S9).
void admission::settle() {
    struct claim {
        wire::owner_update at;
        bool is_there;
    };
    std::unordered_map<object_id, claim, object_id_hash> told;
    for (node_number n = 0; n < site_.nodes; ++n) {
        for (const wire::owner_update& p : std::exchange(others_[n].list, {}).places) {
            const bool is_there = p.owner == n;
            claim& known = told.try_emplace(p.id, claim{p, is_there}).first->second;
            if (std::pair{known.is_there, known.at.version} < std::pair{is_there, p.version}) known = {p, is_there};
        }
    }
    for (auto& [id, known] : known_) {
        if (!known.settled && !told.contains(id)) known.settled = known.ended = true;
    }
    for (const auto& [id, now] : told) {
        const auto [at, fresh] = known_.try_emplace(id, whereabouts{now.at});
        whereabouts& known = at->second;
        if (known.settled) continue;
        const bool has_moved = fresh || known.latest.version < now.at.version;
        known.ended = !now.is_there && (now.at.owner == site_.self || !has_moved);
        known.settled = now.is_there || known.ended || others_[now.at.owner].is_gone;
        known.latest = now.at;
    }
    const bool all = std::ranges::all_of(known_, [](const auto& k) { return k.second.settled; });
    if (all || injected(fault::believe_old_pointers)) return open();
    ++round_;
    for (other& o : others_) o.has_said = o.is_gone;
    changed_.notify_all();
}

/// Opens the new process (B1), which now knows all that it needs. No wait ends here: the node whose survey came last
/// counts as lost until it admits this process.
void admission::open() {
    std::vector<wire::owner_update> elsewhere;
    for (const auto& [id, k] : std::exchange(known_, {})) {
        const node_number home = home_of(id, site_.nodes);
        // An object that has ended is reported to its home as being at that home.
        if (home != site_.self) of_homes_[home].push_back({id, k.ended ? home : k.latest.owner, k.latest.version});
        else if (!k.ended) elsewhere.push_back(k.latest);
    }
    // B3: every survey has carried its sender's clock.
    version_ = injected(fault::return_at_old_version) ? 1 : site_.clock.tick();
    site_.before_names = injected(fault::names_again) ? 0 : era_ << bits_of_name;  // B4
    site_.objects.begin_anew(version_, elsewhere);
    opened_ = true;
    for (node_number n = 0; n < site_.nodes; ++n) {
        if (n != site_.self && !others_[n].is_gone)
            say(n, wire::message_type::rejoin_done, wire::rejoin_done{era_, version_, {}}, of_homes_[n]);
    }
}

bool admission::hear_opened(node_number from, wire::rejoin_done&& told) {
    other& o = others_[from];
    if (told.era <= o.era) {
        // The sender is admitted already, and asks again.
        if (o.serves)
            gate_.say(from, wire::message_type::rejoin_ack, wire::encode(wire::rejoin_ack{told.era, !joins()}));
        return true;
    }
    if (told.era > most_eras + 1) return false;
    if (!add(o.list, told.era, std::move(told.list))) return true;
    for (const wire::owner_update& p : std::exchange(o.list, {}).places) {
        if (home_of(p.id, site_.nodes) != site_.self) continue;
        if (p.owner == site_.self) site_.objects.end_here(p.id, p.version, told.version);
        else site_.objects.point(p.id, p.owner, p.version, true);
    }
    site_.objects.end_former(from, told.version);
    o.era = told.era;
    o.serves = true;
    o.is_gone = false;
    admit_if_both(from);
    gate_.say(from, wire::message_type::rejoin_ack, wire::encode(wire::rejoin_ack{told.era, !joins()}));
    return true;
}

bool admission::hear_admitted(node_number from, const wire::rejoin_ack& told) {
    if (!opened_ || told.era != era_) return true;  // the answer is for a former process
    other& o = others_[from];
    o.has_admitted = true;
    o.serves = o.serves || told.serves;
    admit_if_both(from);
    return true;
}

bool admission::hear_other(node_number from) {
    const std::lock_guard hold{guard_};
    other& o = others_[from];
    // A node sends requests only to nodes that serve and that it has admitted, and only after these have admitted it.
    if (!joining_ || !opened_ || o.is_gone) return false;
    o.has_admitted = o.serves = true;
    admit_if_both(from);
    return true;
}

/// Admits the node once both sides are ready (B1).
void admission::admit_if_both(node_number n) {
    const other& o = others_[n];
    if (!o.serves || (joining_ && !o.has_admitted) || !site_.objects.is_lost(n)) return;
    site_.admit(n, o.era << bits_of_name);
    changed_.notify_all();
}

}  // namespace tutti::cluster
