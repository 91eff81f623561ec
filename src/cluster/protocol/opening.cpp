// How a transaction opens objects, on this node or at the node that pointers lead to.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cluster/protocol/claims.hpp"
#include "cluster/protocol/transaction.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// How many pointers are followed for one object before the search starts again at its home.
constexpr unsigned most_hops = 8;
/// How often a snapshot reader looks. A snapshot reader has no reason to give up: it waits for a decision, or for the
/// loss of the node that owes this decision.
constexpr unsigned most_looks_of_reader = 100 * most_looks;
/// How often a block looks that does not wait for other transactions. Most commits are over by then.
constexpr unsigned looks_without_patience = 2;

/// Returns a function that makes the body of a fetch.
auto fetching(std::uint64_t at, const copies& of) {
    return [at, keeps = of.are_kept()](std::vector<object_id>&& ids) {
        return wire::encode(wire::fetch{.at = at, .keeps = keeps, .ids = std::move(ids)});
    };
}

}  // namespace

void transaction::add_to_pool() {
    pool_.push_back(std::make_unique<entry>());
    note_whether_at_hand();
}

entry& transaction::add(const object_id& id, const store::place& found) {
    entry& e = next_entry();
    if (found.seen != nullptr) known_of(id) = found.seen;
    ++used_;
    if (snapshot_) note_whether_at_hand();
    e.id = id;
    e.at = found;
    e.in_copy = false;
    e.written = false;
    e.user = nullptr;
    if (used_ > scanned) is_plain_ = false;
    if (used_ == scanned + 1) {
        for (std::size_t i = 0; i < used_; ++i) index_.emplace(pool_[i]->id, pool_[i].get());
    } else if (used_ > scanned) {
        index_.emplace(id, &e);
    }
    return e;
}

void transaction::take_over(const detail::light_attempt& from) noexcept {
    ++name_.sequence;
    time_ = from.time();
    prepared_ = decided_ = false;
    used_ = 0;
    for (const detail::light_object& o : from.opened()) {
        entry& e = *pool_[used_++];
        e.where = wire::lookup_result::here;
        e.owner = site_.self;
        e.exists = true;
        e.version = o.version;
        e.valid_at = time_;
        e.id = o.id;
        e.at = {static_cast<shown*>(o.seen), o.word};
        e.in_copy = e.written = false;
        o.into->exists = o.into->decoded = true;
        o.into->written = o.written;
        e.user = o.into;
    }
}

/// Opens the object if it is at hand in the showcase where this thread has last opened an object of the same hash.
bool transaction::open_where_known(const object_id& id) {
    if (used_ == pool_.size()) add_to_pool();
    if (!may_be_at_hand()) return false;
    entry& e = next_at_hand();
    e.at.seen = known_of(id);
    return site_.objects.look_again(e.at, id, e) && take_at_hand(e, id);
}

std::vector<transaction::wanted> transaction::not_open(std::span<const object_id> ids) {
    std::vector<wanted> wants;
    std::unordered_set<object_id, object_id_hash> seen;  // used only for more than `scanned` ids
    const auto is_new = [&](const object_id& id) {
        if (ids.size() > scanned) return seen.insert(id).second;
        return std::ranges::none_of(wants, [&id](const wanted& w) { return w.id == id; });
    };
    for (const object_id& id : ids) {
        if (find(id) == nullptr && is_new(id)) wants.push_back({id, site_.self});
    }
    return wants;
}

void transaction::stop_asking() {
    network_.begin({});
    ahead_ = {};
    note_whether_at_hand();
}

outcome transaction::ask_ahead(std::span<const object_id> ids) {
    is_plain_ = false;
    if (hold() != nullptr) return open(ids);
    if (const outcome o = open_what_was_asked_for(); o != outcome::good) return o;
    for (const wanted& w : not_open(ids)) {
        wire::object_view view;
        site_.objects.look(w.id, view, looks_at());
        if (view.where == wire::lookup_result::elsewhere && !look_in_copy(w.id, view))
            ahead_.objects.push_back(first_of(w, view));
    }
    if (ahead_.objects.empty()) return outcome::good;
    note_whether_at_hand();
    note_before_asking(ahead_.objects);
    std::ranges::sort(ahead_.objects, {}, &wanted::at);
    make_questions(ahead_.objects, wire::message_type::fetch, fetching(looks_at(), site_.cache), ahead_.calls,
                   ahead_.asked);
    try {
        network_.begin(ahead_.calls);
    } catch (...) {
        ahead_ = {};  // no call is pending
        note_whether_at_hand();
        throw;
    }
    return outcome::good;
}

/// Opens the objects that were asked for ahead. Objects that were not found where they were expected stay closed.
outcome transaction::open_what_was_asked_for() {
    if (ahead_.objects.empty()) return outcome::good;
    network_.finish();
    const ahead all = std::exchange(ahead_, {});
    note_whether_at_hand();
    std::vector<wire::object_view> views;
    const outcome asked = take_answers(all.calls, all.asked, views);
    std::vector<wanted> again;
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (find(all.objects[i].id) != nullptr) continue;
        if (injected(fault::believe_early_answers)) views[i].valid_at = std::max(views[i].valid_at, time_);
        if (const outcome o = take(all.objects[i], views[i], again); o != outcome::good) return o;
    }
    return asked;
}

outcome transaction::open(std::span<const object_id> ids) {
    if (ids.size() == 1 && (find(ids.front()) != nullptr || open_where_known(ids.front()))) return outcome::good;
    if (ids.size() == 1 && hold() == nullptr) {
        // Handles the common case of an object that is here without making lists.
        again_.clear();
        remote_.clear();
        const outcome o = look_here({ids.front(), site_.self}, again_, remote_);
        if (o != outcome::good || (again_.empty() && remote_.empty())) return o;
    }
    is_plain_ = false;
    std::vector<wanted> wants = not_open(ids);
    const bool some_come = std::ranges::any_of(wants, [this](const wanted& w) {
        return std::ranges::find(ahead_.objects, w.id, &wanted::id) != ahead_.objects.end();
    });
    if (some_come) {
        if (const outcome o = open_what_was_asked_for(); o != outcome::good) return o;
        wants = not_open(ids);
    }
    bool waits = false;
    const auto gives_way = [this](bool none_is_busy, unsigned turn) {
        return !none_is_busy && turn >= looks_without_patience && !(manners_.waits || snapshot_ || is_bound());
    };
    for (unsigned turn = 0; !wants.empty(); ++turn) {
        if (turn == (snapshot_ ? most_looks_of_reader : most_looks)) return lose_to(rollback_reason::busy, used_);
        const std::size_t before = wants.size();
        if (const outcome o = look_around(wants); o != outcome::good) return o;
        // Nothing was found: another transaction commits, or an object is moving. A snapshot reader that follows
        // pointers into the past does not wait.
        if (wants.size() != before) turn = 0;
        if (turn == 0) continue;
        const bool none_is_busy = std::ranges::none_of(wants, &wanted::busy);
        if (snapshot_ && none_is_busy) continue;
        if (!none_is_busy && !std::exchange(waits, true)) ++waits_;
        if (gives_way(none_is_busy, turn)) return lose_to(rollback_reason::busy, used_);
        network_.pause(turn % most_looks);
    }
    return outcome::good;
}

/// Looks once for each object. Leaves the objects that are elsewhere or busy in `wants`.
outcome transaction::look_around(std::vector<wanted>& wants) {
    std::vector<wanted> again;
    std::vector<wire::object_view> views;
    std::vector<wanted> remote;
    for (const wanted& w : wants) {
        if (w.at != site_.self) remote.push_back(w);
        else if (const outcome o = look_here(w, again, remote); o != outcome::good) return o;
    }
    claims* const hold = this->hold();
    note_before_asking(remote);
    std::ranges::sort(remote, {}, &wanted::at);
    const outcome asked = hold != nullptr
                              ? ask_to_reserve(remote, reservation(), *hold, views)
                              : ask_nodes(remote, wire::message_type::fetch, fetching(looks_at(), site_.cache), views);
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (const outcome o = take(remote[i], views[i], again); o != outcome::good) return o;
    }
    wants = std::move(again);
    return asked;
}

outcome transaction::look_here(const wanted& w, std::vector<wanted>& again, std::vector<wanted>& remote) {
    wire::object_view& view = next_entry();  // the entry that the object will use if it is here
    wanted seen = w;
    if (claims* const hold = this->hold(); hold != nullptr) {
        static_cast<void>(hold->note_owner(site_.self));
        site_.reserved.reserve(w.id, reservation(), view);
    } else {
        site_.objects.look(w.id, view, looks_at(), seen.found);
        if (view.where == wire::lookup_result::elsewhere && look_in_copy(w.id, view)) {
            seen = {.id = w.id, .at = view.owner, .in_copy = true};
        }
    }
    if (w.hops != 0) site_.objects.explain(w.id, view);
    if (view.where != wire::lookup_result::elsewhere) return take(seen, view, again);
    remote.push_back(first_of(seen, view));
    return outcome::good;
}

bool transaction::look_in_copy(const object_id& id, wire::object_view& view) {
    wire::object_view there;
    if (!site_.cache.look(id, there) || !network_.hears(there.owner)) return false;
    view = std::move(there);
    return true;
}

void transaction::note_before_asking(std::span<wanted> objects) {
    const std::uint64_t losses = site_.objects.losses();
    const bool keeps = site_.cache.are_kept();
    for (wanted& w : objects) {
        w.losses = losses;
        if (keeps) w.invalidations = site_.cache.invalidations(w.id);
    }
}

transaction::wanted transaction::first_of(wanted w, const wire::object_view& view) const {
    w.at = view.owner;
    const node_number home = home_of(w.id, site_.nodes);
    if (w.hops != 0 || home == site_.self || home == view.owner) return w;
    w.owner = view.owner;
    w.since = view.version;
    w.guessed = looks_at() == wire::newest;
    const bool home_is_there = !site_.objects.is_lost(home) || injected(fault::ask_lost_home);
    if (home_is_there && !site_.pointers.follows(w.id)) w.at = home;
    return w;
}

template <class BodyOf>
void transaction::make_questions(std::span<const wanted> objects, wire::message_type what, BodyOf&& body_of,
                                 std::vector<call>& calls, std::vector<std::size_t>& asked) const {
    calls.clear();
    for (std::size_t i = 0; i < objects.size();) {
        std::vector<object_id> ids;
        const node_number at = objects[i].at;
        const std::size_t most = std::min(i + site_.most_asked(), objects.size());
        for (; i < most && objects[i].at == at; ++i) ids.push_back(objects[i].id);
        asked.push_back(ids.size());
        calls.push_back({at, what, body_of(std::move(ids)), {}, false});
    }
}

outcome transaction::take_answers(std::span<const call> calls, std::span<const std::size_t> asked,
                                  std::vector<wire::object_view>& views) {
    views.clear();
    for (std::size_t i = 0; i < calls.size(); ++i) {
        wire::fetch_reply found;
        // A node that sends an invalid answer is treated as lost.
        if (!calls[i].answered || !wire::decode(calls[i].answer, found) || found.objects.size() != asked[i])
            return lose_node(calls[i].to);
        std::ranges::move(found.objects, std::back_inserter(views));
    }
    return outcome::good;
}

template <class BodyOf>
outcome transaction::ask_nodes(std::span<const wanted> objects, wire::message_type what, BodyOf&& body_of,
                               std::vector<wire::object_view>& views) {
    std::vector<std::size_t> asked;  // how many ids each call asks for
    make_questions(objects, what, body_of, calls_, asked);
    if (!calls_.empty()) network_.exchange(calls_);
    return take_answers(calls_, asked, views);
}

transaction::wanted transaction::next_of(wanted w, const wire::object_view& view) {
    const node_number home = home_of(w.id, site_.nodes);
    // The past has at most as many hops as nodes, in addition to the hops that lead to a former owner.
    const unsigned most = snapshot_ ? most_hops + 2u * site_.nodes : most_hops;
    // The former owner has released the object, and the next owner does not know yet that its commit has succeeded.
    w.busy = view.owner == w.at || view.owner >= site_.nodes || w.hops >= most;
    if (w.busy) return {.id = w.id, .at = home, .busy = true};
    ++w.hops;
    // Pointers followed for the past may also lead backwards.
    if (snapshot_ && !w.guessed) {
        w.at = view.owner;
        return w;
    }
    const bool guessed = w.guessed;
    const node_number guess = w.owner;
    // A node that has forgotten the object (S9), or that knows less than was known before, cannot show the way.
    const bool knows_less = view.version < w.since;
    if (!knows_less) {
        w.since = view.version;
        w.owner = view.owner;
        site_.objects.point_as_answered(w.id, view.owner, view.version, w.at == home, w.losses);
    }
    if (guessed) site_.pointers.was(w.id, w.at == home && view.owner == guess);
    // If pointers are usually right, the next pointer is followed, too. Otherwise the home is asked (luck.hpp).
    const bool astray = guessed && w.at != home;
    w.guessed = astray && site_.pointers.follows(w.id);
    w.at = (astray && !w.guessed) || (knows_less && w.at != home) ? home : w.owner;
    return w;
}

outcome transaction::ask_to_reserve(std::span<const wanted> objects, wire::reserve what, claims& hold,
                                    std::vector<wire::object_view>& views) {
    // Noted before the owners are asked: a lost answer may have reserved something.
    views.clear();
    for (const wanted& w : objects) {
        if (!hold.note_owner(w.at)) return lose_node(w.at);
    }
    const auto reserve = [&what](std::vector<object_id>&& ids) {
        what.ids = std::move(ids);
        return wire::encode(what);
    };
    return ask_nodes(objects, wire::message_type::reserve, reserve, views);
}

outcome transaction::take(const wanted& w, wire::object_view& view, std::vector<wanted>& again) {
    switch (view.where) {
        case wire::lookup_result::elsewhere: again.push_back(next_of(w, view)); return outcome::good;
        case wire::lookup_result::busy:
            again.push_back(w);
            again.back().busy = true;
            return outcome::good;
        case wire::lookup_result::too_old: return lose_to(rollback_reason::too_old);
        case wire::lookup_result::in_doubt:
            if (!w.guessed || w.at != w.owner) return lose_to_doubt(view, w.at);
            // This node's pointer may be older than the latest move of the object.
            again.push_back({.id = w.id, .at = home_of(w.id, site_.nodes)});
            return outcome::good;
        case wire::lookup_result::later: again.push_back(w); return outcome::good;
        case wire::lookup_result::too_large: return outcome::too_large;
        case wire::lookup_result::here: break;
    }
    // The answer's clock has been heard (rule C), so a correct answer has no time beyond it.
    if (std::max(view.version, view.valid_at) > site_.clock.now()) return lose_node(w.at);
    if (view.shared && w.at != site_.self && !w.in_copy) site_.cache.keep(w.id, w.at, view, w.invalidations);
    // This is the first question of a snapshot reader, for several objects, and its first answer has moved the time.
    // The object's state at that time has to be fetched.
    const bool blind = snapshot_ && injected(fault::newest_for_oldest);
    if (snapshot_ && used_ != 0 && !blind && (view.version > time_ || view.valid_at < time_)) {
        again.push_back(w);
        again.back().in_copy = false;
        return outcome::good;
    }
    // T2: the other reads must have been current at a clock of this version or more. A snapshot reader's first read
    // fixes its time, so all other reads have to be current at that time. The same holds if objects were read before
    // and dropped.
    const bool fixes_time = snapshot_ && used_ == 0;
    if ((view.version > time_ || fixes_time) && !blind) {
        if (const outcome o = forward(view.valid_at); o != outcome::good) return o;
    }
    if (w.guessed) site_.pointers.was(w.id, w.at == w.owner);
    entry& e = add(w.id, w.found);
    if (&view != &e) static_cast<wire::object_view&>(e) = std::move(view);
    e.owner = w.at;
    e.in_copy = w.in_copy;
    // T1. The owner looked when its clock was time_ or more (rule C), unless another object of the same question has
    // moved the time since.
    return e.valid_at < time_ ? forward(time_) : outcome::good;
}

}  // namespace tutti::cluster
