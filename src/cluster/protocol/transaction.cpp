#include "cluster/protocol/transaction.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {

void distributed_transaction::leave_snapshot() noexcept {
    node_.snapshots.leave(*snapshot_entered_);
    snapshot_entered_.reset();
}

bool distributed_transaction::begin(bool snapshot, bool without_local_reads) {
    ++name_.sequence;
    references_.drop();
    discard_prefetched();
    end_snapshot();
    references_.unpin();
    snapshot_ = snapshot;
    irrevocable_hold_ = nullptr;
    behavior_ = {};
    wait_count_ = 0;
    refusal_ = {};
    if (snapshot) snapshot_entered_ = node_.snapshots.enter();
    time_ = snapshot ? *snapshot_entered_ : node_.clock.now();
    entries_.clear();
    prepared_ = decided_ = false;
    update_fast_path();
    is_clean_ = !snapshot;
    if (without_local_reads || local_reads_ == nullptr || local_reads_->validate(time_)) return true;
    why_ = rollback_reason::local_validation;
    return false;
}

void distributed_transaction::set_behavior(const contention_behavior& how) noexcept {
    is_clean_ = false;
    behavior_ = how;
    if (snapshot_) behavior_.reserve_for = nullptr;
    if (injected(fault::no_age)) behavior_.precedence.age = 0;
    if (injected(fault::priority_not_carried)) behavior_.precedence.rank = 0;
    update_fast_path();
}

wire::precedence distributed_transaction::precedence() const noexcept {
    wire::precedence p = behavior_.precedence;
    if (behavior_.counts_objects && p.rank < highest_rank - wire::max_elements)
        p.rank += static_cast<std::int64_t>(std::min<std::size_t>(entries_.size(), wire::max_elements));
    return p;
}

bool distributed_transaction::writes() const noexcept {
    return std::ranges::any_of(entries(), [](const auto& e) { return e->written; });
}

template <class Concerns, class Here>
protocol_status distributed_transaction::query_owners(wire::message_type what, Concerns&& concerns, Here&& here,
                                                      std::size_t& current) {
    struct owner_query {
        node_number to;
        wire::validate what;
        std::vector<std::size_t> entries;  // the entries of its reads
    };
    std::vector<owner_query> queries;
    current = entries_.size();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        object_entry& e = entries_[i];
        if (!concerns(e)) continue;
        if (what == wire::message_type::validate && is_valid_in_copy(e)) continue;
        if (e.owner == node_.self) {
            if (here(e)) continue;
            current = i;
            break;  // a conflict also discards the entries opened later
        }
        auto at = std::ranges::find(queries, e.owner, &owner_query::to);
        if (at == queries.end()) at = queries.insert(queries.end(), {e.owner, {}, {}});
        at->what.reads.push_back({e.id, e.version});
        at->entries.push_back(i);
    }
    std::vector<call> calls;
    for (const owner_query& query : queries) {
        calls.push_back({query.to, what, wire::encode(query.what), {}, false});
        if (!fits(calls.back().body, query.entries.size())) return protocol_status::too_large;
    }
    if (!calls.empty()) network_.exchange(calls);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::vector<std::size_t>& asked = queries[i].entries;
        wire::validate_reply answer;
        // A node that sends an invalid answer is treated as lost.
        if (!calls[i].answered || !wire::decode(calls[i].answer, answer) || answer.current > asked.size())
            return fail_node_lost(calls[i].to);
        if (answer.current == asked.size()) continue;
        const std::size_t stale = asked[answer.current];
        current = injected(fault::last_stale_read) ? stale : std::min(current, stale);
    }
    return current == entries_.size() ? protocol_status::good : fail_with(rollback_reason::validation, current);
}

protocol_status distributed_transaction::watch() {
    std::size_t current = 0;
    return query_owners(
        wire::message_type::watch, [](const object_entry&) { return true; },
        [this](const object_entry& e) { return node_.objects.watch(e.id, e.version, node_.self); }, current);
}

protocol_status distributed_transaction::extend_snapshot(std::uint64_t to, bool all_reads) {
    if (injected(fault::no_snapshot_extension)) {
        time_ = std::max(time_, to);
        return protocol_status::good;
    }
    // Rule C: a node that is asked below raises its clock to `to` or more before it reads.
    node_.clock.raise_to(to);
    if (local_reads_ != nullptr && !local_reads_->validate(to)) return fail_with(rollback_reason::local_validation);
    std::size_t current = entries_.size();
    protocol_status o = protocol_status::good;
    if (!is_irrevocable()) {  // reserved objects stay current
        o = query_owners(
            wire::message_type::validate, [&](const object_entry& e) { return all_reads || e.valid_at < to; },
            [this](const object_entry& e) { return node_.objects.is_current(e.id, e.version); }, current);
        if (o != protocol_status::good && o != protocol_status::conflict) return o;
    }
    // TXN4: the first `current` entries have been seen at the new time, even if others are stale.
    for (std::size_t i = 0; i < current; ++i) entries_[i].valid_at = std::max(entries_[i].valid_at, to);
    time_ = std::max(time_, to);
    return o;
}

void distributed_transaction::roll_back_to(std::size_t kept) noexcept {
    if (injected(fault::keep_dropped_entries)) return;
    entries_.truncate(kept);
    update_fast_path();
}

bool distributed_transaction::is_valid_in_copy(object_entry& e) {
    e.in_copy = e.in_copy && network_.is_reachable(e.owner) && node_.cache.is_current(e.id, e.version);
    return e.in_copy;
}

void distributed_transaction::drop_copy(const object_entry& e) {
    if (const auto message = node_.cache.release(e.id))
        network_.post(e.owner, wire::message_type::invalidate_reply, wire::encode(*message));
}

wire::action distributed_transaction::action_for(const object_entry& e) const noexcept {
    if (node_.placement == object_placement::writer && e.owner != node_.self) return wire::action::leave;
    return e.will_exist ? wire::action::put : wire::action::erase;
}

void distributed_transaction::make_parts() {
    const wire::precedence as = precedence();
    references_.reserve_pins(entries_.size());
    for (const auto& e : entries()) {
        if (e->in_copy && !e->written && network_.is_reachable(e->owner) &&
            references_.pin(e->id, e->version, e->owner))
            continue;
        if (e->written && e->owner != node_.self) drop_copy(*e);
        auto at = std::ranges::find(parts_, e->owner, &prepare_part::at);
        if (at == parts_.end()) {
            at = parts_.insert(parts_.end(), prepare_part{e->owner, {}});
            at->request.who = name_;
            at->request.as = as;
        }
        if (!e->written) {
            at->request.reads.push_back({e->id, e->version});
            continue;
        }
        const wire::action what = action_for(*e);
        at->request.writes.push_back({e->id, e->version, what, what == wire::action::put ? e->fresh : std::string{}});
    }
}

bool distributed_transaction::may_commit_locally() const noexcept {
    return entries_.size() <= object_directory::max_local_objects &&
           std::ranges::all_of(entries(), [this](const auto& e) { return e->owner == node_.self; });
}

namespace {

/// Returns the image of encoded bytes, whose first word is the tag.
detail::typed_bytes typed_bytes_of(std::string& bytes) noexcept {
    detail::typed_bytes i{};
    if (bytes.size() < sizeof i.tag) return i;
    std::memcpy(&i.tag, bytes.data(), sizeof i.tag);
    i.at = bytes.data() + sizeof i.tag;
    i.size = bytes.size() - sizeof i.tag;
    return i;
}

}  // namespace

bool distributed_transaction::prepare_in_place() noexcept {
    if (!opens_on_fast_path_ || entries_.size() > object_directory::max_local_objects) return false;
    std::array<object_directory::in_place_write, object_directory::max_local_objects> spots;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        object_entry& e = entries_[i];
        object_directory::in_place_write& s = spots[i];
        s.at = e.hint.object;
        s.word = e.hint.word;
        s.written.at = nullptr;
        if (e.written) s.written = e.fresh_image.exists() ? e.fresh_image : typed_bytes_of(e.fresh);
        if (s.at == nullptr || (e.written && !(e.will_exist && s.written.exists()))) return false;
    }
    if (!node_.objects.commit_in_place({spots.data(), entries_.size()}, version_)) return false;
    parts_.clear();
    prepared_ = decided_ = true;
    return true;
}

void distributed_transaction::encode() {
    for (const auto& e : entries()) {
        if (!e->written || !e->fresh_image.exists()) continue;
        e->fresh.resize(sizeof e->fresh_image.tag + e->fresh_image.size);
        std::memcpy(e->fresh.data(), &e->fresh_image.tag, sizeof e->fresh_image.tag);
        std::memcpy(e->fresh.data() + sizeof e->fresh_image.tag, e->fresh_image.at, e->fresh_image.size);
        e->fresh_image = {};
    }
}

protocol_status distributed_transaction::commit_locally() {
    encode();
    local_writes_.clear();
    for (const auto& e : entries())
        local_writes_.push_back({&e->id, e->version, e->written ? &e->fresh : nullptr, action_for(*e)});
    const wire::lock_refusal why = node_.objects.commit_locally(local_writes_, name_, precedence(), version_);
    if (why != wire::lock_refusal::none) return fail_refused(node_.self, why);
    parts_.clear();
    prepared_ = decided_ = true;
    return protocol_status::good;
}

protocol_status distributed_transaction::lock_all(bool decisive) {
    refusal_ = {};
    if (decisive && prepare_in_place()) return protocol_status::good;
    if (decisive && may_commit_locally()) return commit_locally();
    is_clean_ = false;
    encode();
    parts_.clear();
    prepared_ = true;  // set first: if memory runs out below, abort() releases what is pinned by then
    make_parts();
    if (const std::optional<node_number> lost = references_.add(parts_)) {
        prepared_ = false;
        references_.unpin();
        return fail_node_lost(*lost);
    }
    if (injected(fault::draw_version_early)) version_ = node_.clock.tick();
    // This node's own part comes first, because its locks cost nothing, and the last node may decide only when all
    // other locks are held.
    std::ranges::partition(parts_, [this](const prepare_part& p) { return p.at == node_.self; });
    calls_.clear();
    bool writes_here = false;
    for (prepare_part& p : parts_) {
        if (p.at != node_.self) continue;
        p.request.decides = wire::decider::sender;
        writes_here = !p.request.writes.empty();
        if (const wire::prepare_reply own = node_.commits.prepare(wire::prepare{p.request}); !own.yes) {
            prepared_ = false;
            references_.unpin();
            references_.drop();
            return fail_refused(node_.self, own.why);
        }
    }
    const auto remote = static_cast<std::size_t>(
        std::ranges::count_if(parts_, [this](const prepare_part& p) { return p.at != node_.self; }));
    const bool one_message = decisive && remote == 1;
    const bool by_all = is_decided_by_all(decisive, remote);
    const wire::decider decides = by_all         ? wire::decider::all_of_several
                                  : remote > 1   ? wire::decider::sender_of_several
                                  : !one_message ? wire::decider::sender
                                  : writes_here  ? wire::decider::receiver_held
                                                 : wire::decider::receiver;
    for (prepare_part& p : parts_) {
        if (p.at == node_.self) continue;
        p.request.decides = decides;
        if (remote > 1) list_participants(p);
        calls_.push_back({p.at, wire::message_type::prepare, wire::encode(p.request), {}, false});
        if (fits(calls_.back().body, std::max(p.request.reads.size(), p.request.writes.size()))) continue;
        abort();
        return protocol_status::too_large;
    }
    network_.exchange(calls_);
    protocol_status all = protocol_status::good;
    std::uint64_t latest = 0;
    for (const call& c : calls_) {
        wire::prepare_reply answer;
        if (!c.answered || !wire::decode(c.answer, answer) ||
            std::max(answer.version, answer.clock) > node_.clock.now()) {
            all = fail_node_lost(c.to);
            if (one_message && c.sent && !injected(fault::lost_instead_of_uncertain)) all = protocol_status::uncertain;
        } else if (!answer.yes) {
            refused_by_ = c.to;
            refusal_ = std::max(refusal_, answer.why);
            if (all == protocol_status::good) all = fail_with(rollback_reason::prepare_refused);
        } else if (one_message) {
            decided_ = true;
            version_ = answer.version;
        } else {
            latest = std::max(latest, answer.clock);
        }
    }
    if (by_all && all == protocol_status::good && !injected(fault::draw_version_early)) {
        // CMT10: the transaction has committed. Participants that have lost this node determine the same version.
        decided_ = true;
        version_ = latest + 1;
        node_.clock.raise_to(version_);
    }
    if (by_all && all == protocol_status::lost && !injected(fault::withdraw_alone) && !withdraw())
        all = protocol_status::uncertain;
    if (all == protocol_status::uncertain) {
        why_ = rollback_reason::outcome_unknown;
        for (const auto& e : entries()) {
            if (e->written && e->owner == lost_ && action_for(*e) == wire::action::leave)
                node_.objects.transfer_lost(e->id, lost_);
        }
    }
    if (all != protocol_status::good) abort();
    // All locks are held, here and elsewhere: docs/cluster-protocol.md, "The version is drawn behind the locks".
    else if (!decided_ && !injected(fault::draw_version_early)) version_ = node_.clock.tick();
    return all;
}

bool distributed_transaction::is_decided_by_all(bool decisive, std::size_t remote) const noexcept {
    // All participants must be other nodes that answer a prepare: this node has no part, and has pinned no copy. An
    // object that moves to this node would be lost with this node, so an operator decides about such a commit.
    return decisive && remote > 1 && remote == parts_.size() && !references_.has_pins() &&
           node_.placement != object_placement::writer;
}

/// Asks all participants to withdraw (CMT10). Returns true if a participant has answered no, or withdraws its yes. Then
/// no participant commits.
bool distributed_transaction::withdraw() {
    const auto says_no = [](const call& c) {
        wire::prepare_reply answer;
        return c.answered && wire::decode(c.answer, answer) && !answer.yes;
    };
    // A node to which no prepare was sent has not answered yes. It rejects a prepare of this node once it has lost this
    // node.
    if (std::ranges::any_of(calls_, [&](const call& c) { return !c.sent || says_no(c); })) return true;
    const std::string body = wire::encode(wire::withdraw{name_});
    for (call& c : calls_) c = {c.to, wire::message_type::withdraw, body, {}, false};
    network_.exchange(calls_);
    return std::ranges::any_of(calls_, says_no);
}

void distributed_transaction::list_participants(prepare_part& to) const {
    for (const prepare_part& p : parts_) {
        if (p.at != node_.self && p.at != to.at) to.request.others.push_back(p.at);
    }
}

/// Installs the objects that were elsewhere, and are here from now on.
void distributed_transaction::install_moved() {
    for (const auto& e : entries()) {
        if (!e->written || e->owner == node_.self || action_for(*e) != wire::action::leave) continue;
        node_.objects.install(e->id, e->will_exist, e->fresh, version_, e->owner);
    }
}

void distributed_transaction::notify_homes() {
    for (const auto& e : entries()) {
        if (!e->written || e->owner == node_.self || action_for(*e) != wire::action::leave) continue;
        const node_number home = home_of(e->id, node_.nodes);
        if (home == node_.self || home == e->owner || injected(fault::directory_not_updated)) continue;
        network_.post(home, wire::message_type::owner_update,
                      wire::encode(wire::owner_update{e->id, node_.self, version_}));
    }
}

void distributed_transaction::commit() {
    prepared_ = false;
    references_.unpin();
    if (parts_.empty()) return references_.drop();  // the transaction is already committed, or has only read copies
    install_moved();
    for (const prepare_part& p : parts_) {
        const wire::decide what{name_, true, version_};
        if (p.at == node_.self) node_.commits.decide(what);
        else if (p.request.decides != wire::decider::receiver)
            network_.post(p.at, wire::message_type::decide, wire::encode(what));
    }
    notify_homes();
    references_.drop();
}

void distributed_transaction::abort() {
    if (!prepared_) return;
    prepared_ = false;
    references_.unpin();
    for (const prepare_part& p : parts_) {
        const wire::decide what{name_, false, 0};
        if (p.at == node_.self) node_.commits.decide(what);
        else network_.post(p.at, wire::message_type::decide, wire::encode(what));
    }
    references_.drop();
}

}  // namespace tutti::cluster
