// How a transaction opens objects: here, or wherever it is shown the way to.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cluster/protocol/claims.hpp"
#include "cluster/protocol/transaction.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// Pointers followed for one object before it is looked for from its home again.
constexpr unsigned most_hops = 8;
/// A snapshot reader has no reason to give way: it waits for a decision, or for the news that the node which owes it is
/// gone.
constexpr unsigned most_looks_of_reader = 100 * most_looks;
/// Of a block that does not wait for others: by then most commits are over.
constexpr unsigned looks_without_patience = 2;

/// Makes the body of a fetch.
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
        e.where = wire::whereabouts::here;
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

/// If it is at hand where this thread has opened one of its hash before.
bool transaction::open_where_known(const object_id& id) {
    if (used_ == pool_.size()) add_to_pool();
    if (!may_be_at_hand()) return false;
    entry& e = next_at_hand();
    e.at.seen = known_of(id);
    return site_.objects.look_again(e.at, id, e) && take_at_hand(e, id);
}

std::vector<transaction::wanted> transaction::not_open(std::span<const object_id> ids) {
    std::vector<wanted> wants;
    std::unordered_set<object_id, object_id_hash> seen;  // of more than `scanned`
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
        if (view.where == wire::whereabouts::elsewhere && !look_in_copy(w.id, view))
            ahead_.objects.push_back(first_of(w, view));
    }
    if (ahead_.objects.empty()) return outcome::good;
    note_whether_at_hand();
    note_before_asking(ahead_.objects);
    std::ranges::sort(ahead_.objects, {}, &wanted::at);
    make_questions(ahead_.objects, wire::kind::fetch, fetching(looks_at(), site_.cache), ahead_.calls, ahead_.asked);
    try {
        network_.begin(ahead_.calls);
    } catch (...) {
        ahead_ = {};  // nothing is under way
        note_whether_at_hand();
        throw;
    }
    return outcome::good;
}

/// What is not where it was expected is not opened.
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
        if (broken(fault::believe_early_answers)) views[i].valid_at = std::max(views[i].valid_at, time_);
        if (const outcome o = take(all.objects[i], views[i], again); o != outcome::good) return o;
    }
    return asked;
}

outcome transaction::open(std::span<const object_id> ids) {
    if (ids.size() == 1 && (find(ids.front()) != nullptr || open_where_known(ids.front()))) return outcome::good;
    if (ids.size() == 1 && hold() == nullptr) {
        // Mostly it is here, and there is nothing to keep a list of.
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
        // Nothing found: somebody commits, or an object is on its way. A reader that follows one into the past waits
        // for nobody.
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

/// Looks for each once; leaves those that are elsewhere or busy.
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
                              : ask_nodes(remote, wire::kind::fetch, fetching(looks_at(), site_.cache), views);
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (const outcome o = take(remote[i], views[i], again); o != outcome::good) return o;
    }
    wants = std::move(again);
    return asked;
}

outcome transaction::look_here(const wanted& w, std::vector<wanted>& again, std::vector<wanted>& remote) {
    wire::object_view& view = next_entry();  // where it is going to stay, if it is here
    wanted seen = w;
    if (claims* const hold = this->hold(); hold != nullptr) {
        static_cast<void>(hold->note_owner(site_.self));
        site_.reserved.reserve(w.id, reservation(), view);
    } else {
        site_.objects.look(w.id, view, looks_at(), seen.found);
        if (view.where == wire::whereabouts::elsewhere && look_in_copy(w.id, view)) {
            seen = {.id = w.id, .at = view.owner, .in_copy = true};
        }
    }
    if (w.hops != 0) site_.objects.explain(w.id, view);
    if (view.where != wire::whereabouts::elsewhere) return take(seen, view, again);
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
    const bool home_is_there = !site_.objects.is_lost(home) || broken(fault::ask_lost_home);
    if (home_is_there && !site_.pointers.follows(w.id)) w.at = home;
    return w;
}

template <class BodyOf>
void transaction::make_questions(std::span<const wanted> objects, wire::kind what, BodyOf&& body_of,
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
        wire::fetched found;
        // A node that answers something else is as good as gone.
        if (!calls[i].answered || !wire::decode(calls[i].answer, found) || found.objects.size() != asked[i])
            return lose_node(calls[i].to);
        std::ranges::move(found.objects, std::back_inserter(views));
    }
    return outcome::good;
}

template <class BodyOf>
outcome transaction::ask_nodes(std::span<const wanted> objects, wire::kind what, BodyOf&& body_of,
                               std::vector<wire::object_view>& views) {
    std::vector<std::size_t> asked;  // by each call
    make_questions(objects, what, body_of, calls_, asked);
    if (!calls_.empty()) network_.exchange(calls_);
    return take_answers(calls_, asked, views);
}

transaction::wanted transaction::next_of(wanted w, const wire::object_view& view) {
    const node_number home = home_of(w.id, site_.nodes);
    // Into the past there are as many hops as nodes, beside those that lead to one that has been an owner.
    const unsigned most = snapshot_ ? most_hops + 2u * site_.nodes : most_hops;
    // Its former owner has let it go, and its next one does not know yet that it has committed.
    w.busy = view.owner == w.at || view.owner >= site_.nodes || w.hops >= most;
    if (w.busy) return {.id = w.id, .at = home, .busy = true};
    ++w.hops;
    // What is asked about the past leads back as well.
    if (snapshot_ && !w.guessed) {
        w.at = view.owner;
        return w;
    }
    const bool guessed = w.guessed;
    const node_number guess = w.owner;
    // Who has forgotten the object (S9), or knows less than was known before, cannot show the way.
    const bool knows_less = view.version < w.since;
    if (!knows_less) {
        w.since = view.version;
        w.owner = view.owner;
        site_.objects.point_as_answered(w.id, view.owner, view.version, w.at == home, w.losses);
    }
    if (guessed) site_.pointers.was(w.id, w.at == home && view.owner == guess);
    // Where pointers are mostly right the next one is, too; else the home knows the way (luck.hpp).
    const bool astray = guessed && w.at != home;
    w.guessed = astray && site_.pointers.follows(w.id);
    w.at = (astray && !w.guessed) || (knows_less && w.at != home) ? home : w.owner;
    return w;
}

outcome transaction::ask_to_reserve(std::span<const wanted> objects, wire::reserve what, claims& hold,
                                    std::vector<wire::object_view>& views) {
    // Before they are asked: an answer that is lost may have reserved something.
    views.clear();
    for (const wanted& w : objects) {
        if (!hold.note_owner(w.at)) return lose_node(w.at);
    }
    const auto reserve = [&what](std::vector<object_id>&& ids) {
        what.ids = std::move(ids);
        return wire::encode(what);
    };
    return ask_nodes(objects, wire::kind::reserve, reserve, views);
}

outcome transaction::take(const wanted& w, wire::object_view& view, std::vector<wanted>& again) {
    switch (view.where) {
        case wire::whereabouts::elsewhere: again.push_back(next_of(w, view)); return outcome::good;
        case wire::whereabouts::busy:
            again.push_back(w);
            again.back().busy = true;
            return outcome::good;
        case wire::whereabouts::too_old: return lose_to(rollback_reason::too_old);
        case wire::whereabouts::in_doubt:
            if (!w.guessed || w.at != w.owner) return lose_to_doubt(view, w.at);
            // A pointer of this node may be older than what became of the object since.
            again.push_back({.id = w.id, .at = home_of(w.id, site_.nodes)});
            return outcome::good;
        case wire::whereabouts::later: again.push_back(w); return outcome::good;
        case wire::whereabouts::too_large: return outcome::too_large;
        case wire::whereabouts::here: break;
    }
    // The answer's clock has been heard (rule C), so no honest one is beyond it.
    if (std::max(view.version, view.valid_at) > site_.clock.now()) return lose_node(w.at);
    if (view.shared && w.at != site_.self && !w.in_copy) site_.cache.keep(w.id, w.at, view, w.invalidations);
    // Of a first question for several objects, whose first answer has moved the time: what this one was then is kept.
    const bool blind = snapshot_ && broken(fault::newest_for_oldest);
    if (snapshot_ && used_ != 0 && !blind && (view.version > time_ || view.valid_at < time_)) {
        again.push_back(w);
        again.back().in_copy = false;
        return outcome::good;
    }
    // T2: the other reads must have been current at a clock of this version or more. A snapshot reader's first read
    // fixes its time, so what else was read has to be current then: also where objects were read before, and dropped.
    const bool fixes_time = snapshot_ && used_ == 0;
    if ((view.version > time_ || fixes_time) && !blind) {
        if (const outcome o = forward(view.valid_at); o != outcome::good) return o;
    }
    if (w.guessed) site_.pointers.was(w.id, w.at == w.owner);
    entry& e = add(w.id, w.found);
    if (&view != &e) static_cast<wire::object_view&>(e) = std::move(view);
    e.owner = w.at;
    e.in_copy = w.in_copy;
    // T1. Its owner looked with a clock of time_ or more (rule C), unless another object of the same question has moved
    // the time since.
    return e.valid_at < time_ ? forward(time_) : outcome::good;
}

}  // namespace tutti::cluster
