#include "cluster/protocol/transaction.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {

void transaction::leave_snapshot() noexcept {
    site_.readers.leave(*entered_);
    entered_.reset();
}

bool transaction::begin(bool snapshot, bool alone) {
    ++name_.sequence;
    untie();
    forget_ahead();
    end_snapshot();
    unpin();
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
    note_whether_at_hand();
    is_plain_ = !snapshot;
    if (alone || beside_ == nullptr || beside_->stand(time_)) return true;
    why_ = rollback_reason::variables;
    return false;
}

void transaction::behave(const manners& how) noexcept {
    is_plain_ = false;
    manners_ = how;
    if (snapshot_) manners_.shield = nullptr;
    if (injected(fault::no_age)) manners_.as.age = 0;
    if (injected(fault::priority_not_carried)) manners_.as.rank = 0;
    note_whether_at_hand();
}

wire::precedence transaction::precedence() const noexcept {
    wire::precedence p = manners_.as;
    if (manners_.counts_objects && p.rank < highest_rank - wire::max_elements)
        p.rank += static_cast<std::int64_t>(std::min<std::size_t>(used_, wire::max_elements));
    return p;
}

entry* transaction::find_in_index(const object_id& id) noexcept {
    const auto at = index_.find(id);
    return at != index_.end() ? at->second : nullptr;
}

bool transaction::writes() const noexcept {
    return std::ranges::any_of(entries(), [](const auto& e) { return e->written; });
}

template <class Concerns, class Here>
outcome transaction::ask_owners(wire::message_type what, Concerns&& concerns, Here&& here, std::size_t& current) {
    struct question {
        node_number to;
        wire::validate what;
        std::vector<std::size_t> entries;  // the entries of its reads
    };
    std::vector<question> asks;
    current = used_;
    for (std::size_t i = 0; i < used_; ++i) {
        entry& e = *pool_[i];
        if (!concerns(e)) continue;
        if (what == wire::message_type::validate && stands_in_copy(e)) continue;
        if (e.owner == site_.self) {
            if (here(e)) continue;
            current = i;
            break;  // a conflict also discards the entries opened later
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
        wire::validate_reply answer;
        // A node that sends an invalid answer is treated as lost.
        if (!calls[i].answered || !wire::decode(calls[i].answer, answer) || answer.current > asked.size())
            return lose_node(calls[i].to);
        if (answer.current == asked.size()) continue;
        const std::size_t stale = asked[answer.current];
        current = injected(fault::last_stale_read) ? stale : std::min(current, stale);
    }
    return current == used_ ? outcome::good : lose_to(rollback_reason::changed, current);
}

outcome transaction::watch() {
    std::size_t current = 0;
    return ask_owners(
        wire::message_type::watch, [](const entry&) { return true; },
        [this](const entry& e) { return site_.objects.watch(e.id, e.version, site_.self); }, current);
}

outcome transaction::forward(std::uint64_t to, bool anew) {
    if (injected(fault::no_forwarding)) {
        time_ = std::max(time_, to);
        return outcome::good;
    }
    // Rule C: a node that is asked below raises its clock to `to` or more before it looks.
    site_.clock.raise_to(to);
    if (beside_ != nullptr && !beside_->stand(to)) return lose_to(rollback_reason::variables);
    std::size_t current = used_;
    outcome o = outcome::good;
    if (!is_bound()) {  // reserved objects stay current
        o = ask_owners(
            wire::message_type::validate, [&](const entry& e) { return anew || e.valid_at < to; },
            [this](const entry& e) { return site_.objects.is_current(e.id, e.version); }, current);
        if (o != outcome::good && o != outcome::conflict) return o;
    }
    // T4: the first `current` entries have been seen at the new time, even if others are stale.
    for (std::size_t i = 0; i < current; ++i) pool_[i]->valid_at = std::max(pool_[i]->valid_at, to);
    time_ = std::max(time_, to);
    return o;
}

void transaction::rewind(std::size_t kept) noexcept {
    if (injected(fault::keep_what_was_dropped)) return;
    for (; used_ > kept; --used_) {
        if (used_ > scanned) index_.erase(pool_[used_ - 1]->id);
    }
    if (used_ <= scanned) index_.clear();
    note_whether_at_hand();
}

bool transaction::stands_in_copy(entry& e) {
    e.in_copy = e.in_copy && network_.hears(e.owner) && site_.cache.is_current(e.id, e.version);
    return e.in_copy;
}

void transaction::give_up_copy(const entry& e) {
    if (const auto word = site_.cache.give_up(e.id))
        network_.post(e.owner, wire::message_type::invalidate_reply, wire::encode(*word));
}

void transaction::unpin() noexcept {
    for (const pinned& p : pinned_) site_.cache.unpin(p.id);
    pinned_.clear();
}

wire::action transaction::action_for(const entry& e) const noexcept {
    if (site_.how == moving::to_writer && e.owner != site_.self) return wire::action::leave;
    return e.will_exist ? wire::action::put : wire::action::erase;
}

void transaction::gather() {
    const wire::precedence as = precedence();
    pinned_.reserve(used_);
    for (const auto& e : entries()) {
        if (e->in_copy && !e->written && network_.hears(e->owner) && site_.cache.pin(e->id, e->version)) {
            pinned_.push_back({e->id, e->owner});
            continue;
        }
        if (e->written && e->owner != site_.self) give_up_copy(*e);
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

namespace {

/// Returns the image of encoded bytes, whose first word is the tag.
detail::image image_of(std::string& bytes) noexcept {
    detail::image i{};
    if (bytes.size() < sizeof i.tag) return i;
    std::memcpy(&i.tag, bytes.data(), sizeof i.tag);
    i.at = bytes.data() + sizeof i.tag;
    i.size = bytes.size() - sizeof i.tag;
    return i;
}

}  // namespace

bool transaction::prepare_in_place() noexcept {
    if (!opens_at_hand_ || used_ > store::most_at_once) return false;
    std::array<store::spot, store::most_at_once> spots;
    for (std::size_t i = 0; i < used_; ++i) {
        entry& e = *pool_[i];
        store::spot& s = spots[i];
        s.at = e.at.seen;
        s.word = e.at.word;
        s.written.at = nullptr;
        if (e.written) s.written = e.copied.exists() ? e.copied : image_of(e.fresh);
        if (s.at == nullptr || (e.written && !(e.will_exist && s.written.exists()))) return false;
    }
    if (!site_.objects.commit_in_place({spots.data(), used_}, version_)) return false;
    parts_.clear();
    prepared_ = decided_ = true;
    return true;
}

void transaction::encode() {
    for (const auto& e : entries()) {
        if (!e->written || !e->copied.exists()) continue;
        e->fresh.resize(sizeof e->copied.tag + e->copied.size);
        std::memcpy(e->fresh.data(), &e->copied.tag, sizeof e->copied.tag);
        std::memcpy(e->fresh.data() + sizeof e->copied.tag, e->copied.at, e->copied.size);
        e->copied = {};
    }
}

outcome transaction::commit_at_once() {
    encode();
    shares_.clear();
    for (const auto& e : entries())
        shares_.push_back({&e->id, e->version, e->written ? &e->fresh : nullptr, action_for(*e)});
    const wire::lock_refusal why = site_.objects.commit_at_once(shares_, name_, precedence(), version_);
    if (why != wire::lock_refusal::none) return refused(site_.self, why);
    parts_.clear();
    prepared_ = decided_ = true;
    return outcome::good;
}

outcome transaction::take_locks(bool decisive) {
    obstacle_ = {};
    if (decisive && prepare_in_place()) return outcome::good;
    if (decisive && may_commit_at_once()) return commit_at_once();
    is_plain_ = false;
    encode();
    parts_.clear();
    prepared_ = true;  // also if memory runs out below: abort() then releases what is pinned by then
    gather();
    if (!tie()) {
        prepared_ = false;
        unpin();
        return outcome::lost;
    }
    if (injected(fault::draw_version_early)) version_ = site_.clock.tick();
    // This node's own part comes first. Its locks cost nothing, and the last node may decide only when all other locks
    // are held.
    std::ranges::partition(parts_, [this](const part& p) { return p.at == site_.self; });
    calls_.clear();
    bool writes_here = false;
    for (part& p : parts_) {
        if (p.at != site_.self) continue;
        p.what.decides = wire::decider::sender;
        writes_here = !p.what.writes.empty();
        if (const wire::prepare_reply own = site_.votes.prepare(wire::prepare{p.what}); !own.yes) {
            prepared_ = false;
            unpin();
            untie();
            return refused(site_.self, own.why);
        }
    }
    const auto remote =
        static_cast<std::size_t>(std::ranges::count_if(parts_, [this](const part& p) { return p.at != site_.self; }));
    const bool one_message = decisive && remote == 1;
    const bool by_all = is_decided_by_all(decisive, remote);
    const wire::decider decides = by_all         ? wire::decider::all_of_several
                                  : remote > 1   ? wire::decider::sender_of_several
                                  : !one_message ? wire::decider::sender
                                  : writes_here  ? wire::decider::receiver_held
                                                 : wire::decider::receiver;
    for (part& p : parts_) {
        if (p.at == site_.self) continue;
        p.what.decides = decides;
        if (remote > 1) name_others(p);
        calls_.push_back({p.at, wire::message_type::prepare, wire::encode(p.what), {}, false});
        if (fits(calls_.back().body, std::max(p.what.reads.size(), p.what.writes.size()))) continue;
        abort();
        return outcome::too_large;
    }
    network_.exchange(calls_);
    outcome all = outcome::good;
    std::uint64_t latest = 0;
    for (const call& c : calls_) {
        wire::prepare_reply answer;
        if (!c.answered || !wire::decode(c.answer, answer) ||
            std::max(answer.version, answer.clock) > site_.clock.now()) {
            all = lose_node(c.to);
            if (one_message && c.sent && !injected(fault::uncertain_for_lost)) all = outcome::uncertain;
        } else if (!answer.yes) {
            refused_by_ = c.to;
            obstacle_ = std::max(obstacle_, answer.why);
            if (all == outcome::good) all = lose_to(rollback_reason::refused);
        } else if (one_message) {
            decided_ = true;
            version_ = answer.version;
        } else {
            latest = std::max(latest, answer.clock);
        }
    }
    if (by_all && all == outcome::good && !injected(fault::draw_version_early)) {
        // V10: the transaction has committed. Participants that have lost this node determine the same version.
        decided_ = true;
        version_ = latest + 1;
        site_.clock.raise_to(version_);
    }
    if (by_all && all == outcome::lost && !injected(fault::give_up_alone) && !withdraw()) all = outcome::uncertain;
    if (all == outcome::uncertain) {
        why_ = rollback_reason::uncertain;
        for (const auto& e : entries()) {
            if (e->written && e->owner == lost_ && action_for(*e) == wire::action::leave)
                site_.objects.never_came(e->id, lost_);
        }
    }
    if (all != outcome::good) abort();
    // All locks are held, here and elsewhere: docs/cluster-protocol.md, "The version is drawn behind the locks".
    else if (!decided_ && !injected(fault::draw_version_early)) version_ = site_.clock.tick();
    return all;
}

bool transaction::is_decided_by_all(bool decisive, std::size_t remote) const noexcept {
    // All participants are other nodes that answer a prepare: this node holds no part, and has pinned no copy. An
    // object that moves to this node would end with this node, so an operator decides about it.
    return decisive && remote > 1 && remote == parts_.size() && pinned_.empty() && site_.how != moving::to_writer;
}

/// Asks all participants to withdraw (V10). Returns true if a participant has said no, or takes its yes back. Then no
/// participant commits.
bool transaction::withdraw() {
    const auto says_no = [](const call& c) {
        wire::prepare_reply answer;
        return c.answered && wire::decode(c.answer, answer) && !answer.yes;
    };
    // A node that was not asked has not said yes, and refuses a prepare of this node once it has lost it.
    if (std::ranges::any_of(calls_, [&](const call& c) { return !c.sent || says_no(c); })) return true;
    const std::string body = wire::encode(wire::withdraw{name_});
    for (call& c : calls_) c = {c.to, wire::message_type::withdraw, body, {}, false};
    network_.exchange(calls_);
    return std::ranges::any_of(calls_, says_no);
}

void transaction::name_others(part& to) const {
    for (const part& p : parts_) {
        if (p.at != site_.self && p.at != to.at) to.what.others.push_back(p.at);
    }
}

bool transaction::tie() {
    // A tie that is not noted would never end.
    tied_.reserve(parts_.size() + pinned_.size());
    pin_owners_.reserve(pinned_.size());
    // The pins are counted before the check whether the owner is lost. A thread that loses the owner reads this count
    // (ties.hpp).
    for (const pinned& p : pinned_) {
        if (std::ranges::find(pin_owners_, p.owner) != pin_owners_.end()) continue;
        site_.tied.begin_pins(p.owner);
        pin_owners_.push_back(p.owner);
    }
    const auto tie_to = [this](node_number owner) {
        if (owner == site_.self || std::ranges::find(tied_, owner) != tied_.end()) return true;
        if (!site_.tied.begin(owner)) {
            lose_node(owner);
            return false;
        }
        if (tied_.empty()) turn_ = site_.tied.begin_commit();
        tied_.push_back(owner);
        return true;
    };
    const bool all = std::ranges::all_of(parts_, tie_to, &part::at) &&
                     (injected(fault::pin_without_tie) || std::ranges::all_of(pinned_, tie_to, &pinned::owner));
    if (!all) untie();
    return all;
}

void transaction::untie() noexcept {
    // The decisions have been sent before. The decisions' versions are no more than the clock that goes with the
    // `lost_node` message.
    for (const node_number n : pin_owners_) {
        if (site_.tied.end_pins(n)) site_.losses.end_of_pins(n);
    }
    pin_owners_.clear();
    if (tied_.empty()) return;
    site_.tied.end_commit(turn_);
    for (const node_number n : tied_) site_.tied.end(n);
    tied_.clear();
}

/// Installs the objects that were elsewhere, and are here from now on.
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
        if (home == site_.self || home == e->owner || injected(fault::directory_not_updated)) continue;
        network_.post(home, wire::message_type::owner_update,
                      wire::encode(wire::owner_update{e->id, site_.self, version_}));
    }
}

void transaction::commit() {
    prepared_ = false;
    unpin();
    if (parts_.empty()) return untie();  // it is already committed, or has only read copies
    receive_what_moves();
    for (const part& p : parts_) {
        const wire::decide what{name_, true, version_};
        if (p.at == site_.self) site_.votes.decide(what);
        else if (p.what.decides != wire::decider::receiver)
            network_.post(p.at, wire::message_type::decide, wire::encode(what));
    }
    tell_homes();
    untie();
}

void transaction::abort() {
    if (!prepared_) return;
    prepared_ = false;
    unpin();
    for (const part& p : parts_) {
        const wire::decide what{name_, false, 0};
        if (p.at == site_.self) site_.votes.decide(what);
        else network_.post(p.at, wire::message_type::decide, wire::encode(what));
    }
    untie();
}

}  // namespace tutti::cluster
