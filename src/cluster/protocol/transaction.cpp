#include "cluster/protocol/transaction.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "cluster/protocol/claims.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t scanned = 16;
/// Pointers followed for one object before it is looked for from its home again.
constexpr unsigned most_hops = 8;
/// A snapshot reader has no reason to give way: it waits for a decision, or for the news that the node which owes it is
/// gone.
constexpr unsigned most_looks_of_reader = 100 * most_looks;
/// Of a block that does not wait for others: by then most commits are over.
constexpr unsigned looks_without_patience = 2;

/// Makes the body of a fetch.
auto fetching(std::uint64_t at) {
    return [at](std::vector<object_id>&& ids) { return wire::encode(wire::fetch{.at = at, .ids = std::move(ids)}); };
}

}  // namespace

void transaction::end_snapshot() noexcept {
    if (entered_) site_.readers.leave(*entered_);
    entered_.reset();
}

bool transaction::begin(bool snapshot) {
    ++name_.sequence;
    forget_ahead();
    end_snapshot();
    snapshot_ = snapshot;
    bound_to_ = nullptr;
    manners_ = {};
    waits_ = 0;
    obstacle_ = {};
    if (snapshot) entered_ = site_.readers.enter();
    time_ = snapshot ? *entered_ : site_.clock.now();
    used_ = 0;
    if (!index_.empty()) index_.clear();
    prepared_ = decided_ = false;
    if (beside_ == nullptr || beside_->stand(time_)) return true;
    why_ = rollback_reason::variables;
    return false;
}

void transaction::behave(const manners& how) noexcept {
    manners_ = how;
    if (snapshot_) manners_.shield = nullptr;
    if (broken(fault::no_age)) manners_.as.age = 0;
    if (broken(fault::priority_not_carried)) manners_.as.rank = 0;
}

wire::precedence transaction::precedence() const noexcept {
    wire::precedence p = manners_.as;
    if (manners_.counts_objects && p.rank < highest_rank - wire::most_elements)
        p.rank += static_cast<std::int64_t>(std::min<std::size_t>(used_, wire::most_elements));
    return p;
}

entry* transaction::find(const object_id& id) noexcept {
    if (used_ > scanned) {
        const auto at = index_.find(id);
        return at != index_.end() ? at->second : nullptr;
    }
    for (std::size_t i = 0; i < used_; ++i) {
        if (pool_[i]->id == id) return pool_[i].get();
    }
    return nullptr;
}

entry& transaction::next_entry() {
    if (used_ == pool_.size()) pool_.push_back(std::make_unique<entry>());
    return *pool_[used_];
}

entry& transaction::add(const object_id& id) {
    entry& e = next_entry();
    ++used_;
    e.id = id;
    e.written = false;
    e.user = nullptr;
    if (used_ == scanned + 1) {
        for (std::size_t i = 0; i < used_; ++i) index_.emplace(pool_[i]->id, pool_[i].get());
    } else if (used_ > scanned) {
        index_.emplace(id, &e);
    }
    return e;
}

bool transaction::writes() const noexcept {
    return std::ranges::any_of(entries(), [](const auto& e) { return e->written; });
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

void transaction::forget_ahead() {
    if (ahead_.objects.empty()) return;
    network_.begin({});
    ahead_ = {};
}

outcome transaction::ask_ahead(std::span<const object_id> ids) {
    if (hold() != nullptr) return open(ids);
    if (const outcome o = open_what_was_asked_for(); o != outcome::good) return o;
    for (const wanted& w : not_open(ids)) {
        wire::object_view view;
        site_.objects.look(w.id, view, looks_at());
        if (view.where == wire::whereabouts::elsewhere) ahead_.objects.push_back(first_of(w, view));
    }
    if (ahead_.objects.empty()) return outcome::good;
    std::ranges::sort(ahead_.objects, {}, &wanted::at);
    make_questions(ahead_.objects, wire::kind::fetch, fetching(looks_at()), ahead_.calls, ahead_.asked);
    try {
        network_.begin(ahead_.calls);
    } catch (...) {
        ahead_ = {};  // nothing is under way
        throw;
    }
    return outcome::good;
}

/// What is not where it was expected is not opened.
outcome transaction::open_what_was_asked_for() {
    if (ahead_.objects.empty()) return outcome::good;
    network_.finish();
    const ahead all = std::exchange(ahead_, {});
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
    if (ids.size() == 1 && hold() == nullptr) {
        // Mostly it is here, and there is nothing to keep a list of.
        again_.clear();
        remote_.clear();
        if (find(ids.front()) != nullptr) return outcome::good;
        const outcome o = look_here({ids.front(), site_.self}, again_, remote_);
        if (o != outcome::good || (again_.empty() && remote_.empty())) return o;
    }
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
    std::ranges::sort(remote, {}, &wanted::at);
    const outcome asked = hold != nullptr ? ask_to_reserve(remote, reservation(), *hold, views)
                                          : ask_nodes(remote, wire::kind::fetch, fetching(looks_at()), views);
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
        hold->note_owner(site_.self);
        site_.reserved.reserve(w.id, reservation(), view);
    } else {
        seen.found = site_.objects.look(w.id, view, looks_at());
    }
    if (view.where != wire::whereabouts::elsewhere) return take(seen, view, again);
    remote.push_back(first_of(seen, view));
    return outcome::good;
}

transaction::wanted transaction::first_of(wanted w, const wire::object_view& view) const {
    w.at = view.owner;
    const node_number home = home_of(w.id, site_.nodes);
    if (w.hops != 0 || home == site_.self || home == view.owner) return w;
    w.owner = view.owner;
    w.since = view.version;
    w.guessed = looks_at() == wire::newest;
    if (!site_.pointers.follows(w.id)) w.at = home;
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
        if (view.owner != site_.self) site_.objects.point(w.id, view.owner, view.version, w.at == home);
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
    for (const wanted& w : objects) hold.note_owner(w.at);
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
        case wire::whereabouts::in_doubt: return lose_to_doubt(view, w.at);
        case wire::whereabouts::later: again.push_back(w); return outcome::good;
        case wire::whereabouts::too_large: return outcome::too_large;
        case wire::whereabouts::here: break;
    }
    // The answer's clock has been heard (rule C), so no honest one is beyond it.
    if (std::max(view.version, view.valid_at) > site_.clock.now()) return lose_node(w.at);
    // Of a first question for several objects, whose first answer has moved the time: what this one was then is kept.
    const bool blind = snapshot_ && broken(fault::newest_for_oldest);
    if (snapshot_ && used_ != 0 && !blind && (view.version > time_ || view.valid_at < time_)) {
        again.push_back(w);
        return outcome::good;
    }
    // T2: the other reads must have been current at a clock of this version or more. A snapshot reader's first read
    // fixes its time, so what else was read has to be current then: also where objects were read before, and dropped.
    const bool fixes_time = snapshot_ && used_ == 0;
    if ((view.version > time_ || fixes_time) && !blind) {
        if (const outcome o = forward(view.valid_at); o != outcome::good) return o;
    }
    if (w.guessed) site_.pointers.was(w.id, w.at == w.owner);
    entry& e = add(w.id);
    if (&view != &e) static_cast<wire::object_view&>(e) = std::move(view);
    e.owner = w.at;
    e.at = w.found;
    // T1. Its owner looked with a clock of time_ or more (rule C), unless another object of the same question has moved
    // the time since.
    return e.valid_at < time_ ? forward(time_) : outcome::good;
}

template <class Concerns, class Here>
outcome transaction::ask_owners(wire::kind what, Concerns&& concerns, Here&& here, std::size_t& current) {
    struct question {
        node_number to;
        wire::validate what;
        std::vector<std::size_t> entries;  // that its reads are
    };
    std::vector<question> asks;
    current = used_;
    for (std::size_t i = 0; i < used_; ++i) {
        const entry& e = *pool_[i];
        if (!concerns(e)) continue;
        if (e.owner == site_.self) {
            if (here(e)) continue;
            current = i;
            break;  // whatever was opened later goes with it
        }
        auto at = std::ranges::find(asks, e.owner, &question::to);
        if (at == asks.end()) at = asks.insert(asks.end(), {e.owner, {}, {}});
        at->what.reads.push_back({e.id, e.version});
        at->entries.push_back(i);
    }
    std::vector<call> calls;
    for (const question& ask : asks) {
        calls.push_back({ask.to, what, wire::encode(ask.what), {}, false});
        if (!fits(calls.back().body, ask.entries.size())) return outcome::too_large;
    }
    if (!calls.empty()) network_.exchange(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::vector<std::size_t>& asked = asks[i].entries;
        wire::checked answer;
        // A node that answers something else is as good as gone.
        if (!calls[i].answered || !wire::decode(calls[i].answer, answer) || answer.current > asked.size())
            return lose_node(calls[i].to);
        if (answer.current == asked.size()) continue;
        const std::size_t stale = asked[answer.current];
        current = broken(fault::last_stale_read) ? stale : std::min(current, stale);
    }
    return current == used_ ? outcome::good : lose_to(rollback_reason::changed, current);
}

outcome transaction::watch() {
    std::size_t current = 0;
    return ask_owners(
        wire::kind::watch, [](const entry&) { return true; },
        [this](const entry& e) { return site_.objects.watch(e.id, e.version, site_.self); }, current);
}

outcome transaction::forward(std::uint64_t to, bool anew) {
    if (broken(fault::no_forwarding)) {
        time_ = std::max(time_, to);
        return outcome::good;
    }
    // Rule C: a node that is asked below has a clock of `to` or more before it looks.
    site_.clock.raise_to(to);
    if (beside_ != nullptr && !beside_->stand(to)) return lose_to(rollback_reason::variables);
    std::size_t current = used_;
    outcome o = outcome::good;
    if (!is_bound()) {  // what is reserved stays current
        o = ask_owners(
            wire::kind::validate, [&](const entry& e) { return anew || e.valid_at < to; },
            [this](const entry& e) { return site_.objects.is_current(e.id, e.version); }, current);
        if (o != outcome::good && o != outcome::conflict) return o;
    }
    // T4: also where it is not all of them, these have been seen at the new time.
    for (std::size_t i = 0; i < current; ++i) pool_[i]->valid_at = std::max(pool_[i]->valid_at, to);
    time_ = std::max(time_, to);
    return o;
}

void transaction::rewind(std::size_t kept) noexcept {
    if (broken(fault::keep_what_was_dropped)) return;
    for (; used_ > kept; --used_) {
        if (used_ > scanned) index_.erase(pool_[used_ - 1]->id);
    }
    if (used_ <= scanned) index_.clear();
}

wire::action transaction::action_for(const entry& e) const noexcept {
    if (site_.how == moving::to_writer && e.owner != site_.self) return wire::action::leave;
    return e.will_exist ? wire::action::put : wire::action::erase;
}

void transaction::gather() {
    parts_.clear();
    const wire::precedence as = precedence();
    for (const auto& e : entries()) {
        auto at = std::ranges::find(parts_, e->owner, &part::at);
        if (at == parts_.end()) {
            at = parts_.insert(parts_.end(), part{e->owner, {}});
            at->what.who = name_;
            at->what.as = as;
        }
        if (!e->written) {
            at->what.reads.push_back({e->id, e->version});
            continue;
        }
        const wire::action what = action_for(*e);
        at->what.writes.push_back({e->id, e->version, what, what == wire::action::put ? e->fresh : std::string{}});
    }
}

bool transaction::may_commit_at_once() const noexcept {
    return used_ <= store::most_at_once &&
           std::ranges::all_of(entries(), [this](const auto& e) { return e->owner == site_.self; });
}

outcome transaction::commit_at_once() {
    shares_.clear();
    for (const auto& e : entries())
        shares_.push_back({&e->id, e->version, e->written ? &e->fresh : nullptr, action_for(*e), e->at});
    const wire::obstacle why = site_.objects.commit_at_once(shares_, name_, precedence(), version_);
    if (why != wire::obstacle::none) return refused(site_.self, why);
    parts_.clear();
    prepared_ = decided_ = true;
    return outcome::good;
}

outcome transaction::take_locks(bool decisive) {
    obstacle_ = {};
    if (decisive && may_commit_at_once()) return commit_at_once();
    gather();
    prepared_ = true;
    if (broken(fault::draw_version_early)) version_ = site_.clock.tick();
    // Its own part first: it costs nothing, and the last node may decide only when all other locks are held.
    std::ranges::partition(parts_, [this](const part& p) { return p.at == site_.self; });
    calls_.clear();
    bool writes_here = false;
    for (part& p : parts_) {
        if (p.at != site_.self) continue;
        p.what.decides = wire::decider::sender;
        writes_here = !p.what.writes.empty();
        if (const wire::answered own = site_.votes.prepare(wire::prepare{p.what}); !own.yes) {
            prepared_ = false;
            return refused(site_.self, own.why);
        }
    }
    const auto remote =
        static_cast<std::size_t>(std::ranges::count_if(parts_, [this](const part& p) { return p.at != site_.self; }));
    const bool one_message = decisive && remote == 1;
    const wire::decider decides = !one_message  ? wire::decider::sender
                                  : writes_here ? wire::decider::receiver_held
                                                : wire::decider::receiver;
    for (part& p : parts_) {
        if (p.at == site_.self) continue;
        p.what.decides = decides;
        calls_.push_back({p.at, wire::kind::prepare, wire::encode(p.what), {}, false});
        if (fits(calls_.back().body, std::max(p.what.reads.size(), p.what.writes.size()))) continue;
        abort();
        return outcome::too_large;
    }
    network_.exchange(calls_);
    outcome all = outcome::good;
    for (const call& c : calls_) {
        wire::answered answer;
        if (!c.answered || !wire::decode(c.answer, answer) || answer.version > site_.clock.now()) {
            all = lose_node(c.to);
            if (one_message && c.sent && !broken(fault::uncertain_for_lost)) all = outcome::uncertain;
        } else if (!answer.yes) {
            refused_by_ = c.to;
            obstacle_ = std::max(obstacle_, answer.why);
            if (all == outcome::good) all = lose_to(rollback_reason::refused);
        } else if (one_message) {
            decided_ = true;
            version_ = answer.version;
        }
    }
    if (all == outcome::uncertain) why_ = rollback_reason::uncertain;
    if (all != outcome::good) abort();
    // With all locks held, here and elsewhere: docs/cluster-protocol.md, "The version is drawn behind the locks".
    else if (!decided_ && !broken(fault::draw_version_early)) version_ = site_.clock.tick();
    return all;
}

/// The objects that were elsewhere, and are here from now on.
void transaction::receive_what_moves() {
    for (const auto& e : entries()) {
        if (!e->written || e->owner == site_.self || action_for(*e) != wire::action::leave) continue;
        site_.objects.install(e->id, e->will_exist, e->fresh, version_, e->owner);
    }
}

void transaction::tell_homes() {
    for (const auto& e : entries()) {
        if (!e->written || e->owner == site_.self || action_for(*e) != wire::action::leave) continue;
        const node_number home = home_of(e->id, site_.nodes);
        if (home == site_.self || home == e->owner || broken(fault::directory_not_updated)) continue;
        network_.post(home, wire::kind::place, wire::encode(wire::place{e->id, site_.self, version_}));
    }
}

void transaction::commit() {
    prepared_ = false;
    if (parts_.empty()) return;  // it is done already
    receive_what_moves();
    for (const part& p : parts_) {
        const wire::decide what{name_, true, version_};
        if (p.at == site_.self) site_.votes.decide(what);
        else if (p.what.decides != wire::decider::receiver) network_.post(p.at, wire::kind::decide, wire::encode(what));
    }
    tell_homes();
}

void transaction::abort() {
    if (!prepared_) return;
    prepared_ = false;
    for (const part& p : parts_) {
        const wire::decide what{name_, false, 0};
        if (p.at == site_.self) site_.votes.decide(what);
        else network_.post(p.at, wire::kind::decide, wire::encode(what));
    }
}

}  // namespace tutti::cluster
