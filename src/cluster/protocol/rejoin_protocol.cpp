#include "cluster/protocol/rejoin_protocol.hpp"

#include <algorithm>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t bytes_of_place = 26, list_overhead_bytes = 64;

}  // namespace

template <class Message>
void rejoin_protocol::send_list(node_number to, wire::message_type type, Message what,
                                const std::vector<wire::owner_update>& all) {
    const std::size_t room = node_.max_message_bytes > list_overhead_bytes
                                 ? (node_.max_message_bytes - list_overhead_bytes) / bytes_of_place
                                 : 0;
    const std::size_t most = std::clamp<std::size_t>(room, 1, wire::max_elements);
    what.list.parts = static_cast<std::uint32_t>(std::max<std::size_t>((all.size() + most - 1) / most, 1));
    for (std::uint32_t i = 0; i < what.list.parts; ++i) {
        const std::size_t first = i * most, last = std::min(first + most, all.size());
        what.list.part = i;
        what.list.places.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                                all.begin() + static_cast<std::ptrdiff_t>(last));
        transport_.send_one_way(to, type, wire::encode(what));
    }
}

bool rejoin_protocol::add_part(incoming_list& to, std::uint64_t of, wire::list_part&& list) {
    if (to.number != of || to.parts != list.parts) to = {of, list.parts, std::vector<bool>(list.parts), {}};
    if (to.received[list.part]) return false;  // the part has arrived twice
    to.received[list.part] = true;
    to.places.insert(to.places.end(), list.places.begin(), list.places.end());
    return std::ranges::find(to.received, false) == to.received.end();
}

void rejoin_protocol::begin(const std::vector<bool>& serving) {
    const std::lock_guard hold{guard_};
    rejoining_ = true;
    lists_for_homes_.resize(node_.nodes);
    for (node_number n = 0; n < node_.nodes; ++n) {
        if (n == node_.self) continue;
        node_.objects.mark_lost(n);
        peers_[n].has_served = serving[n];
    }
}

void rejoin_protocol::resend() {
    const std::lock_guard hold{guard_};
    wire::rejoin_request request;
    if (!rejoined_) {
        request.round = round_;
        for (node_number n = 0; n < node_.nodes; ++n) request.processes.push_back(transport_.process_of(n));
        if (injected(fault::rejoin_before_reports)) {
            era_ = 1;
            return finish_rejoin();
        }
    }
    for (node_number n = 0; n < node_.nodes; ++n) {
        const peer& o = peers_[n];
        if (n == node_.self || o.is_lost) continue;
        if (!rejoined_) {
            if (!o.has_reported) transport_.send_one_way(n, wire::message_type::rejoin_request, wire::encode(request));
        } else if (!o.has_admitted) {
            send_list(n, wire::message_type::rejoin_done, wire::rejoin_done{era_, version_, {}}, lists_for_homes_[n]);
        }
    }
}

/// REQUIRES: the caller holds the lock. Another thread may mark a node as lost without the lock, but this ends no wait.
/// All other changes need the lock.
bool rejoin_protocol::is_awaited(node_number n) const noexcept {
    return n != node_.self && !peers_[n].is_lost && node_.objects.is_lost(n);
}

/// REQUIRES: the caller holds the lock.
bool rejoin_protocol::is_over_locked() const noexcept {
    if (!rejoined_) return false;
    for (node_number n = 0; n < node_.nodes; ++n) {
        if (is_awaited(n)) return false;
    }
    return true;
}

bool rejoin_protocol::wait(base::deadline until) {
    std::unique_lock hold{guard_};
    changed_.wait_until(hold, until,
                        [this] { return lost_before_report_ || is_over_locked() || round_ != awaited_round_; });
    return std::exchange(awaited_round_, round_) != round_;
}

bool rejoin_protocol::is_over() {
    const std::lock_guard hold{guard_};
    if (!is_over_locked()) return false;
    rejoining_ = false;
    return true;
}

std::optional<node_number> rejoin_protocol::lost_before_report() {
    const std::lock_guard hold{guard_};
    return lost_before_report_;
}

std::uint64_t rejoin_protocol::version() {
    const std::lock_guard hold{guard_};
    return version_;
}

std::vector<node_number> rejoin_protocol::awaited_nodes() {
    const std::lock_guard hold{guard_};
    std::vector<node_number> all;
    for (node_number n = 0; n < node_.nodes; ++n) {
        if (is_awaited(n)) all.push_back(n);
    }
    return all;
}

void rejoin_protocol::on_node_lost(node_number node) {
    const std::lock_guard hold{guard_};
    peer& o = peers_[node];
    if (is_rejoining() && o.has_served && !lost_before_report_) lost_before_report_ = node;
    o.is_lost = rejoining_;
    o.has_admitted = o.serves = false;
    changed_.notify_all();
    o.has_reported = false;
    o.latest_round = 0;
    o.list = {};
}

bool rejoin_protocol::receive(const wire::header& h, std::string_view body) {
    const auto decode_and_handle = [&]<class Message>(Message&& m, auto&& then) {
        return wire::decode(body, m) && h.from < node_.nodes && h.from != node_.self && then(std::move(m));
    };
    const auto sound = [&](const wire::list_part& list) {
        return list.part < list.parts && list.parts <= wire::max_elements &&
               std::ranges::all_of(
                   list.places,
                   [&](const wire::owner_update& p) {
                       return p.owner < node_.nodes && p.version <= node_.clock.now();
                   });
    };
    const std::lock_guard hold{guard_};
    switch (h.type) {
        case wire::message_type::rejoin_request:
            return decode_and_handle(wire::rejoin_request{},
                                     [&](wire::rejoin_request&& m) { return receive_rejoin_request(h.from, m); });
        case wire::message_type::ownership_report:
            return decode_and_handle(wire::ownership_report{}, [&](wire::ownership_report&& m) {
                return sound(m.list) && receive_ownership_report(h.from, std::move(m));
            });
        case wire::message_type::rejoin_done:
            return decode_and_handle(wire::rejoin_done{}, [&](wire::rejoin_done&& m) {
                return sound(m.list) && m.version <= node_.clock.now() && receive_rejoin_done(h.from, std::move(m));
            });
        default:
            return decode_and_handle(wire::rejoin_ack{},
                                     [&](wire::rejoin_ack&& m) { return receive_rejoin_ack(h.from, m); });
    }
}

/// Handles a rejoin request. Sends nothing if it is too early for an ownership report, because the new process repeats
/// its request.
bool rejoin_protocol::receive_rejoin_request(node_number from, const wire::rejoin_request& asked) {
    if (asked.processes.size() != node_.nodes) return false;
    if (!node_.objects.is_lost(from)) return true;  // the request belongs to an earlier round
    peers_[from].is_lost = false;
    for (node_number n = 0; n < node_.nodes; ++n) {
        const std::uint64_t mine = n == from || n == node_.self ? 0 : transport_.process_of(n);
        if (mine != 0 && mine != asked.processes[n]) return true;  // RJN2
    }
    if (node_.references.has_lost_peer()) return true;  // RJN2
    if (!node_.commits.end_queries(from)) return true;  // CMT8
    if (peer& o = peers_[from]; asked.round > 1) {
        if (o.latest_round != asked.round) {
            const auto epoch = node_.references.advance_epoch();
            if (!epoch) return true;
            o.latest_round = asked.round;
            o.epoch = *epoch;
        }
        if (!node_.references.has_ended(o.epoch)) return true;  // RJN5
    }
    node_.snapshots.expect_rejoin(from);
    // RJN4: this process may not know the lost process's era, if this process has rejoined later than the lost process,
    // and is the only process that is left. But its own era is above all eras that it was told when it rejoined.
    const std::uint64_t era = std::max(peers_[from].era, era_);
    send_list(from, wire::message_type::ownership_report, wire::ownership_report{asked.round, ++reports_sent_, era, {}},
              node_.objects.list_owned_elsewhere());
    return true;
}

bool rejoin_protocol::receive_ownership_report(node_number from, wire::ownership_report&& message) {
    peer& o = peers_[from];
    if (message.round > round_ || message.era > max_eras) return false;
    if (!is_rejoining() || o.has_reported || message.round != round_ ||
        !add_part(o.list, message.number, std::move(message.list)))
        return true;
    o.has_reported = true;
    era_ = std::max(era_, message.era + 1);
    for (node_number n = 0; n < node_.nodes; ++n) {
        if (n != node_.self && !peers_[n].has_reported) return true;
    }
    evaluate_reports();
    return true;
}

/// Evaluates the ownership reports of a round. A node that reports that it has an object still has it, or has moved it
/// away since then and keeps the pointer. If all nodes only have pointers to an object, consider the node that the
/// latest pointer names. A commit of that node has taken the object, and had begun when the ownership report was sent.
/// So in the next round (RJN5), that node has the object, has a later pointer, or has forgotten the object. In the last
/// case, the node had forgotten the object before the former process was lost, and had told that process what it knew
/// (DIR9).
void rejoin_protocol::evaluate_reports() {
    struct report {
        wire::owner_update at;
        bool is_there;
    };
    std::unordered_map<object_id, report, object_id_hash> reported;
    for (node_number n = 0; n < node_.nodes; ++n) {
        for (const wire::owner_update& p : std::exchange(peers_[n].list, {}).places) {
            const bool is_there = p.owner == n;
            report& known = reported.try_emplace(p.id, report{p, is_there}).first->second;
            if (std::pair{known.is_there, known.at.version} < std::pair{is_there, p.version}) known = {p, is_there};
        }
    }
    for (auto& [id, known] : objects_) {
        if (!known.resolved && !reported.contains(id)) known.resolved = known.ended = true;
    }
    for (const auto& [id, now] : reported) {
        const auto [at, fresh] = objects_.try_emplace(id, object_state{now.at});
        object_state& known = at->second;
        if (known.resolved) continue;
        const bool has_moved = fresh || known.latest.version < now.at.version;
        known.ended = !now.is_there && (now.at.owner == node_.self || !has_moved);
        known.resolved = now.is_there || known.ended || peers_[now.at.owner].is_lost;
        known.latest = now.at;
    }
    const bool all = std::ranges::all_of(objects_, [](const auto& k) { return k.second.resolved; });
    if (all || injected(fault::trust_old_pointers)) return finish_rejoin();
    ++round_;
    for (peer& o : peers_) o.has_reported = o.is_lost;
    changed_.notify_all();
}

/// Lets the new process serve requests (RJN1), because it now has all ownership reports. No wait ends here: the node
/// whose ownership report arrived last counts as lost until it admits this process.
void rejoin_protocol::finish_rejoin() {
    std::vector<wire::owner_update> elsewhere;
    for (const auto& [id, k] : std::exchange(objects_, {})) {
        const node_number home = home_of(id, node_.nodes);
        // An object that has ended is reported to its home as being at that home.
        if (home != node_.self)
            lists_for_homes_[home].push_back({id, k.ended ? home : k.latest.owner, k.latest.version});
        else if (!k.ended) elsewhere.push_back(k.latest);
    }
    // RJN3: this version is above the clock of every report's sender, because each report has carried that clock.
    version_ = injected(fault::rejoin_at_old_version) ? 1 : node_.clock.tick();
    node_.last_former_name = injected(fault::reuse_names) ? 0 : era_ << name_bits;  // RJN4
    node_.objects.reset(version_, elsewhere);
    rejoined_ = true;
    for (node_number n = 0; n < node_.nodes; ++n) {
        if (n != node_.self && !peers_[n].is_lost)
            send_list(n, wire::message_type::rejoin_done, wire::rejoin_done{era_, version_, {}}, lists_for_homes_[n]);
    }
}

bool rejoin_protocol::receive_rejoin_done(node_number from, wire::rejoin_done&& message) {
    peer& o = peers_[from];
    if (message.era <= o.era) {
        // The sender is admitted already, and has repeated its message.
        if (o.serves)
            transport_.send_one_way(from, wire::message_type::rejoin_ack,
                                    wire::encode(wire::rejoin_ack{message.era, !is_rejoining()}));
        return true;
    }
    if (message.era > max_eras + 1) return false;
    if (!add_part(o.list, message.era, std::move(message.list))) return true;
    for (const wire::owner_update& p : std::exchange(o.list, {}).places) {
        if (home_of(p.id, node_.nodes) != node_.self) continue;
        if (p.owner == node_.self) node_.objects.erase_lost(p.id, p.version, message.version);
        else node_.objects.set_pointer(p.id, p.owner, p.version, true);
    }
    node_.objects.erase_former(from, message.version);
    o.era = message.era;
    o.serves = true;
    o.is_lost = false;
    admit_if_both(from);
    transport_.send_one_way(from, wire::message_type::rejoin_ack,
                            wire::encode(wire::rejoin_ack{message.era, !is_rejoining()}));
    return true;
}

bool rejoin_protocol::receive_rejoin_ack(node_number from, const wire::rejoin_ack& message) {
    if (!rejoined_ || message.era != era_) return true;  // the answer is for a former process
    peer& o = peers_[from];
    o.has_admitted = true;
    o.serves = o.serves || message.serves;
    admit_if_both(from);
    return true;
}

bool rejoin_protocol::receive_other(node_number from) {
    const std::lock_guard hold{guard_};
    peer& o = peers_[from];
    // A node sends a request only to a node that serves and that it has admitted, and only after that node has admitted
    // it.
    if (!rejoining_ || !rejoined_ || o.is_lost) return false;
    o.has_admitted = o.serves = true;
    admit_if_both(from);
    return true;
}

/// Admits the node once both sides are ready (RJN1).
void rejoin_protocol::admit_if_both(node_number n) {
    const peer& o = peers_[n];
    if (!o.serves || (rejoining_ && !o.has_admitted) || !node_.objects.is_lost(n)) return;
    node_.admit(n, o.era << name_bits);
    changed_.notify_all();
}

}  // namespace tutti::cluster
