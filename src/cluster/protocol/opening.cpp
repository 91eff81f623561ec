// Opens a transaction's objects, on this node or at the node that pointers lead to.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/protocol/transaction.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// How many pointers are followed for one object before the search starts again at its home.
constexpr unsigned max_hops = 8;
/// How often a snapshot reader requests an object. The number is high because giving up does not help: the reader waits
/// for a decision, or for the loss of the node that has to send this decision.
constexpr unsigned max_lookups_of_reader = 100 * max_lookups;
/// How often a block requests an object if the block does not wait for other transactions. Most commits are over by
/// then.
constexpr unsigned lookups_without_waiting = 2;

/// Returns a function that makes the body of a fetch.
auto fetching(std::uint64_t at, const object_cache& of) {
    return [at, keeps = of.is_enabled()](std::vector<object_id>&& ids) {
        return wire::encode(wire::fetch{.at = at, .keeps = keeps, .ids = std::move(ids)});
    };
}

}  // namespace

object_entry& distributed_transaction::add(const object_id& id, const object_directory::lookup_hint& found) {
    static_cast<void>(next_entry());
    if (found.object != nullptr) location_hint_of(id) = found.object;
    object_entry& e = entries_.add(id);
    if (snapshot_) update_fast_path();
    e.hint = found;
    e.in_copy = false;
    e.written = false;
    e.object_data = nullptr;
    if (!entries_.uses_scan()) is_clean_ = false;
    return e;
}

void distributed_transaction::take_over(const detail::fast_path_attempt& from) noexcept {
    static_assert(detail::fast_path_attempt::max_objects <= entry_table::max_scanned);
    ++name_.sequence;
    time_ = from.time();
    prepared_ = decided_ = false;
    entries_.clear();
    for (const detail::fast_path_object& o : from.opened()) {
        object_entry& e = entries_.add_scanned();
        e.where = wire::lookup_result::here;
        e.owner = node_.self;
        e.exists = true;
        e.version = o.version;
        e.valid_at = time_;
        e.id = o.id;
        e.hint = {static_cast<seqlock_object*>(o.source), o.word};
        e.in_copy = e.written = false;
        o.into->exists = o.into->decoded = true;
        o.into->written = o.written;
        e.object_data = o.into;
    }
}

/// Opens the object on the fast path, if the seqlock object shows it where this thread has last opened an object of the
/// same hash.
bool distributed_transaction::open_by_hint(const object_id& id) {
    object_entry& e = next_entry();
    if (!opens_on_fast_path_ || entries_.size() >= entry_table::max_scanned) return false;
    e.hint.object = location_hint_of(id);
    // TXN1: this node's clock had reached time() before the read.
    // TXN2: the fast path rejects a version beyond time(). The slow path then extends the snapshot. For a snapshot
    //       reader, the slow path reads the object's value at time() instead.
    if (!node_.objects.reread(e.hint, id, e) || e.version > time_) return false;
    entries_.add_scanned();
    e.id = id;
    e.in_copy = false;
    e.written = false;
    e.object_data = nullptr;
    return true;
}

std::vector<distributed_transaction::object_lookup> distributed_transaction::lookups_of_unopened(
    std::span<const object_id> ids) {
    std::vector<object_lookup> wants;
    std::unordered_set<object_id, object_id_hash> seen;  // used only for more than `entry_table::max_scanned` ids
    const auto is_new = [&](const object_id& id) {
        if (ids.size() > entry_table::max_scanned) return seen.insert(id).second;
        return std::ranges::none_of(wants, [&id](const object_lookup& w) { return w.id == id; });
    };
    for (const object_id& id : ids) {
        if (find(id) == nullptr && is_new(id)) wants.push_back({id, node_.self});
    }
    return wants;
}

void distributed_transaction::cancel_prefetch() {
    network_.begin({});
    prefetched_ = {};
    update_fast_path();
}

protocol_status distributed_transaction::prefetch(std::span<const object_id> ids) {
    is_clean_ = false;
    if (hold() != nullptr) return open(ids);
    if (const protocol_status o = open_prefetched(); o != protocol_status::good) return o;
    for (const object_lookup& w : lookups_of_unopened(ids)) {
        wire::object_view view;
        node_.objects.read(w.id, view, read_time());
        if (view.where == wire::lookup_result::elsewhere && !read_copy(w.id, view))
            prefetched_.objects.push_back(first_lookup(w, view));
    }
    if (prefetched_.objects.empty()) return protocol_status::good;
    update_fast_path();
    record_before_asking(prefetched_.objects);
    std::ranges::sort(prefetched_.objects, {}, &object_lookup::at);
    make_queries(prefetched_.objects, wire::message_type::fetch, fetching(read_time(), node_.cache), prefetched_.calls,
                 prefetched_.asked);
    try {
        network_.begin(prefetched_.calls);
    } catch (...) {
        prefetched_ = {};  // no call is pending
        update_fast_path();
        throw;
    }
    return protocol_status::good;
}

/// Opens the prefetched objects. Objects that were not found where they were expected stay closed.
protocol_status distributed_transaction::open_prefetched() {
    if (prefetched_.objects.empty()) return protocol_status::good;
    network_.finish();
    const prefetched_objects all = std::exchange(prefetched_, {});
    update_fast_path();
    std::vector<wire::object_view> views;
    const protocol_status asked = collect_views(all.calls, all.asked, views);
    std::vector<object_lookup> again;
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (find(all.objects[i].id) != nullptr) continue;
        if (injected(fault::trust_prefetched)) views[i].valid_at = std::max(views[i].valid_at, time_);
        if (const protocol_status o = take_view(all.objects[i], views[i], again); o != protocol_status::good) return o;
    }
    return asked;
}

protocol_status distributed_transaction::open(std::span<const object_id> ids) {
    if (ids.size() == 1 && (find(ids.front()) != nullptr || open_by_hint(ids.front()))) return protocol_status::good;
    if (ids.size() == 1 && hold() == nullptr) {
        // Handles the common case of an object that is here without making lists.
        retry_.clear();
        remote_.clear();
        const protocol_status o = read_here({ids.front(), node_.self}, retry_, remote_);
        if (o != protocol_status::good || (retry_.empty() && remote_.empty())) return o;
    }
    is_clean_ = false;
    std::vector<object_lookup> wants = lookups_of_unopened(ids);
    const bool some_come = std::ranges::any_of(wants, [this](const object_lookup& w) {
        return std::ranges::find(prefetched_.objects, w.id, &object_lookup::id) != prefetched_.objects.end();
    });
    if (some_come) {
        if (const protocol_status o = open_prefetched(); o != protocol_status::good) return o;
        wants = lookups_of_unopened(ids);
    }
    bool waits = false;
    const auto loses_reservation = [this](bool none_is_busy, unsigned attempt) {
        return !none_is_busy && attempt >= lookups_without_waiting &&
               !(behavior_.waits || snapshot_ || is_irrevocable());
    };
    for (unsigned attempt = 0; !wants.empty(); ++attempt) {
        if (attempt == (snapshot_ ? max_lookups_of_reader : max_lookups))
            return fail_with(rollback_reason::busy, entries_.size());
        const std::size_t before = wants.size();
        if (const protocol_status o = locate(wants); o != protocol_status::good) return o;
        // If nothing was found, another transaction is committing, or an object is moving, so this transaction pauses.
        // A snapshot reader that follows pointers into the past does not pause.
        if (wants.size() != before) attempt = 0;
        if (attempt == 0) continue;
        const bool none_is_busy = std::ranges::none_of(wants, &object_lookup::busy);
        if (snapshot_ && none_is_busy) continue;
        if (!none_is_busy && !std::exchange(waits, true)) ++wait_count_;
        if (loses_reservation(none_is_busy, attempt)) return fail_with(rollback_reason::busy, entries_.size());
        network_.pause(attempt % max_lookups);
    }
    return protocol_status::good;
}

/// Locates each object once. Leaves the objects that are elsewhere or busy in `wants`.
protocol_status distributed_transaction::locate(std::vector<object_lookup>& wants) {
    std::vector<object_lookup> again;
    std::vector<wire::object_view> views;
    std::vector<object_lookup> remote;
    for (const object_lookup& w : wants) {
        if (w.at != node_.self) remote.push_back(w);
        else if (const protocol_status o = read_here(w, again, remote); o != protocol_status::good) return o;
    }
    named_lock_client* const hold = this->hold();
    record_before_asking(remote);
    std::ranges::sort(remote, {}, &object_lookup::at);
    const protocol_status asked =
        hold != nullptr ? request_reservations(remote, reservation_request(), *hold, views)
                        : query_nodes(remote, wire::message_type::fetch, fetching(read_time(), node_.cache), views);
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (const protocol_status o = take_view(remote[i], views[i], again); o != protocol_status::good) return o;
    }
    wants = std::move(again);
    return asked;
}

protocol_status distributed_transaction::read_here(const object_lookup& w, std::vector<object_lookup>& again,
                                                   std::vector<object_lookup>& remote) {
    wire::object_view& view = next_entry();  // the entry that the object will use if it is here
    object_lookup seen = w;
    if (named_lock_client* const hold = this->hold(); hold != nullptr) {
        static_cast<void>(hold->record_owner(node_.self));
        node_.reserved_objects.reserve(w.id, reservation_request(), view);
    } else {
        node_.objects.read(w.id, view, read_time(), seen.found);
        if (view.where == wire::lookup_result::elsewhere && read_copy(w.id, view)) {
            seen = {.id = w.id, .at = view.owner, .in_copy = true};
        }
    }
    if (w.hops != 0) node_.objects.report_transfer_lost(w.id, view);
    if (view.where != wire::lookup_result::elsewhere) return take_view(seen, view, again);
    remote.push_back(first_lookup(seen, view));
    return protocol_status::good;
}

bool distributed_transaction::read_copy(const object_id& id, wire::object_view& view) {
    wire::object_view there;
    if (!node_.cache.read(id, there) || !network_.is_reachable(there.owner)) return false;
    view = std::move(there);
    return true;
}

void distributed_transaction::record_before_asking(std::span<object_lookup> objects) {
    const std::uint64_t losses = node_.objects.losses();
    const bool keeps = node_.cache.is_enabled();
    for (object_lookup& w : objects) {
        w.losses = losses;
        if (keeps) w.invalidations = node_.cache.invalidations(w.id);
    }
}

distributed_transaction::object_lookup distributed_transaction::first_lookup(object_lookup w,
                                                                             const wire::object_view& view) const {
    w.at = view.owner;
    const node_number home = home_of(w.id, node_.nodes);
    if (w.hops != 0 || home == node_.self || home == view.owner) return w;
    w.owner = view.owner;
    w.since = view.version;
    w.guessed = read_time() == wire::newest;
    const bool home_is_there = !node_.objects.is_lost(home) || injected(fault::ask_lost_home);
    if (home_is_there && !node_.predictor.predicts_valid(w.id)) w.at = home;
    return w;
}

template <class BodyOf>
void distributed_transaction::make_queries(std::span<const object_lookup> objects, wire::message_type what,
                                           BodyOf&& body_of, std::vector<call>& calls,
                                           std::vector<std::size_t>& asked) const {
    calls.clear();
    for (std::size_t i = 0; i < objects.size();) {
        std::vector<object_id> ids;
        const node_number at = objects[i].at;
        const std::size_t end = std::min(i + node_.max_asked(), objects.size());
        for (; i < end && objects[i].at == at; ++i) ids.push_back(objects[i].id);
        asked.push_back(ids.size());
        calls.push_back({at, what, body_of(std::move(ids)), {}, false});
    }
}

protocol_status distributed_transaction::collect_views(std::span<const call> calls, std::span<const std::size_t> asked,
                                                       std::vector<wire::object_view>& views) {
    views.clear();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        wire::fetch_reply found;
        // A node that sends an invalid answer is treated as lost.
        if (!calls[i].answered || !wire::decode(calls[i].answer, found) || found.objects.size() != asked[i])
            return fail_node_lost(calls[i].to);
        std::ranges::move(found.objects, std::back_inserter(views));
    }
    return protocol_status::good;
}

template <class BodyOf>
protocol_status distributed_transaction::query_nodes(std::span<const object_lookup> objects, wire::message_type what,
                                                     BodyOf&& body_of, std::vector<wire::object_view>& views) {
    std::vector<std::size_t> asked;  // how many ids each call asks for
    make_queries(objects, what, body_of, calls_, asked);
    if (!calls_.empty()) network_.exchange(calls_);
    return collect_views(calls_, asked, views);
}

distributed_transaction::object_lookup distributed_transaction::next_lookup(object_lookup w,
                                                                            const wire::object_view& view) {
    const node_number home = home_of(w.id, node_.nodes);
    // A snapshot reader also follows pointers into the past: at most as many hops as nodes, in addition to the hops
    // that lead to a former owner.
    const unsigned hop_limit = snapshot_ ? max_hops + 2u * node_.nodes : max_hops;
    // The object is busy if its former owner has released it, but the next owner does not know yet that its commit has
    // succeeded.
    w.busy = view.owner == w.at || view.owner >= node_.nodes || w.hops >= hop_limit;
    if (w.busy) return {.id = w.id, .at = home, .busy = true};
    ++w.hops;
    // Pointers that a snapshot reader follows into the past may also lead back to earlier owners' nodes.
    if (snapshot_ && !w.guessed) {
        w.at = view.owner;
        return w;
    }
    const bool guessed = w.guessed;
    const node_number guess = w.owner;
    // A pointer is not followed if it is older than an earlier one. The node may have forgotten the object (DIR9).
    const bool is_outdated = view.version < w.since;
    if (!is_outdated) {
        w.since = view.version;
        w.owner = view.owner;
        node_.objects.set_answered_pointer(w.id, view.owner, view.version, w.at == home, w.losses);
    }
    if (guessed) node_.predictor.record(w.id, w.at == home && view.owner == guess);
    // If pointers are usually right, the next pointer is followed, too. Otherwise the home is asked
    // (pointer_predictor.hpp).
    const bool astray = guessed && w.at != home;
    w.guessed = astray && node_.predictor.predicts_valid(w.id);
    w.at = (astray && !w.guessed) || (is_outdated && w.at != home) ? home : w.owner;
    return w;
}

protocol_status distributed_transaction::request_reservations(std::span<const object_lookup> objects,
                                                              wire::reserve what, named_lock_client& hold,
                                                              std::vector<wire::object_view>& views) {
    // The owners are recorded before they are asked, because a lost answer may have reserved an object.
    views.clear();
    for (const object_lookup& w : objects) {
        if (!hold.record_owner(w.at)) return fail_node_lost(w.at);
    }
    const auto reserve = [&what](std::vector<object_id>&& ids) {
        what.ids = std::move(ids);
        return wire::encode(what);
    };
    return query_nodes(objects, wire::message_type::reserve, reserve, views);
}

protocol_status distributed_transaction::take_view(const object_lookup& w, wire::object_view& view,
                                                   std::vector<object_lookup>& again) {
    switch (view.where) {
        case wire::lookup_result::elsewhere: again.push_back(next_lookup(w, view)); return protocol_status::good;
        case wire::lookup_result::busy:
            again.push_back(w);
            again.back().busy = true;
            return protocol_status::good;
        case wire::lookup_result::too_old: return fail_with(rollback_reason::snapshot_too_old);
        case wire::lookup_result::in_doubt:
            if (!w.guessed || w.at != w.owner) return fail_in_doubt(view, w.at);
            // This node's pointer may be older than the latest move of the object, so the home is asked.
            again.push_back({.id = w.id, .at = home_of(w.id, node_.nodes)});
            return protocol_status::good;
        case wire::lookup_result::later: again.push_back(w); return protocol_status::good;
        case wire::lookup_result::too_large: return protocol_status::too_large;
        case wire::lookup_result::here: break;
    }
    // This node's clock was raised to that of the answer (rule C), so no time in a correct answer is beyond this clock.
    if (std::max(view.version, view.valid_at) > node_.clock.now()) return fail_node_lost(w.at);
    if (view.shared && w.at != node_.self && !w.in_copy) node_.cache.insert(w.id, w.at, view, w.invalidations);
    // This is a snapshot reader's first query, for several objects, and another answer has already fixed the reader's
    // time. The object's state at that time has to be requested.
    const bool blind = snapshot_ && injected(fault::newest_for_old_time);
    if (snapshot_ && !entries_.empty() && !blind && (view.version > time_ || view.valid_at < time_)) {
        again.push_back(w);
        again.back().in_copy = false;
        return protocol_status::good;
    }
    // TXN2: the other reads must have been current at a clock of this version or more. A snapshot reader's first read
    // fixes its time, so all other reads have to be current at that time. The same holds if a roll-back has dropped all
    // earlier reads.
    const bool fixes_time = snapshot_ && entries_.empty();
    if ((view.version > time_ || fixes_time) && !blind) {
        if (const protocol_status o = extend_snapshot(view.valid_at); o != protocol_status::good) return o;
    }
    if (w.guessed) node_.predictor.record(w.id, w.at == w.owner);
    object_entry& e = add(w.id, w.found);
    if (&view != &e) static_cast<wire::object_view&>(e) = std::move(view);
    e.owner = w.at;
    e.in_copy = w.in_copy;
    // TXN1. The owner read the object when its clock was time_ or more (rule C), unless another object of the same
    // query has moved the time since.
    return e.valid_at < time_ ? extend_snapshot(time_) : protocol_status::good;
}

}  // namespace tutti::cluster
