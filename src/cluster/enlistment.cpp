#include "cluster/enlistment.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/fault.hpp"
#include "cluster/key.hpp"
#include "cluster/peer_body.hpp"
#include "core/conflict/contention_rank.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

enlistment::~enlistment() { body_.bells().withdraw(bell_); }

void enlistment::touch_first() {
    is_modest_ = join();
    if (is_modest_ && descriptor_.run.how->policy == tutti::policy::standard)
        modest_ = core::chosen_policy.load(std::memory_order_relaxed);
    begin_attempt();
}

// A first attempt has lost to nobody, so it has no rank that would make it immodest (api::join_attempt).
TUTTI_ALWAYS_INLINE bool enlistment::begin_lightly() noexcept {
    const core::descriptor& d = descriptor_;
    if (weight_ != weight::none || d.run.attempt != 1 || d.has_read() || d.frame_->read_only || d.outer != nullptr ||
        d.run.how->policy != tutti::policy::standard ||
        core::chosen_policy.load(std::memory_order_relaxed) != modest_ || line_.is_recorded() ||
        !d.deferred_log.has_room() || !work_.begin_plainly()) [[unlikely]]
        return false;
    join_in_silence();
    weight_ = weight::light;
    return true;
}

void enlistment::tell_now() noexcept {
    weight_ = weight::full;
    is_modest_ = true;
    tally_.began(false);  // in the room that the attempt before has left, which was told of
    line_.works_for(work_.name().sequence);
    line_.attempt_begins();
}

void enlistment::note_what_is_left() noexcept {
    if (!claims_.empty() || enrolled_ || !again_.empty() || has_steps() || tally_.running() != 0) return;
    claims_.begin_execution();
    work_in_vain_ = 0;
    looked_at_ = 0;
    spoilt_ = was_shielded_ = false;
    weight_ = weight::none;
}

void enlistment::touch_bound() {
    if (!work_.empty()) {
        throw usage_error{
            "tutti: code without barriers made a block irrevocable that had opened objects of a cluster, which other "
            "nodes may have overwritten since: call become_irrevocable before that code, or begin the block with mode "
            "irrevocable"};
    }
    bind();
}

void enlistment::begin_attempt() {
    if (!claims_.empty()) ++blocks_of_undo_;
    else if (descriptor_.run.attempt == 1) claims_.begin_execution();
    if (enrolled_) body_.bells().leave(bell_);
    enrolled_ = false;
    if (defeats_ == 0) work_in_vain_ = 0;
    else pause_after_defeat();
    const bool snapshot = is_reader();
    spoilt_ = false;
    again_.clear();
    if (defeats_ != 0 && !snapshot) note_to_open_again();
    looked_at_ = 0;
    const bool stands = work_.begin(snapshot, descriptor_.reads() == 0);
    line_.works_for(work_.name().sequence);
    if (tally_.running() == 1) line_.attempt_begins();  // blocks of undo actions belong to what they undo
    if (!stands) {
        api::go_back_over_reads(descriptor_);
        restart();
    }
    if (!snapshot) mind_others();
}

void enlistment::pause_after_defeat() {
    // What an attempt had reserved is free for it, unless another goes first.
    if (was_shielded_ && !work_.was_outranked()) return;
    if (api::contention_of(descriptor_).how.pauses) line_.pause(defeats_);
}

enlistment& enlistment::leader() {
    core::descriptor* d = &descriptor_;
    while (d->outer != nullptr && d->outer->running()) d = d->outer;
    if (d == &descriptor_) return *this;
    auto& whole = static_cast<enlistment&>(body_.here(*d));
    if (!whole.joined()) return *this;
    whole.tell();  // it may get an age
    return whole;
}

void enlistment::mind_others() {
    using enum core::distant_conduct::claim;
    // As every attempt begins, mostly.
    if (defeats_ == 0 && is_modest_) {
        was_shielded_ = false;
        return;
    }
    const api::contention c = api::contention_of(descriptor_);
    manners m{.waits = c.how.waits};
    enlistment& whose = leader();
    const bool has_lost = whose.defeats_ != 0;
    bool asserts = true;
    switch (c.how.by) {
        case none: asserts = false; break;
        case age: asserts = has_lost; break;
        case work:
            asserts = has_lost;
            m.as.rank = whose.work_in_vain_;
            m.counts_objects = true;
            break;
        case priority: [[fallthrough]];
        case deadline:
            m.as.rank = c.rank;
            asserts = c.rank > 0;
            break;
        case all: m.as.rank = highest_rank - 1; break;
    }
    const bool senior = c.senior || (c.bounded && whose.defeats_ >= core::defeats_to_seniority);
    if (senior) m = {.waits = true, .as = {.rank = highest_rank}};
    if (asserts || senior) {
        m.as.age = whose.claims_.age();
        m.shield = &claims_;
    }
    was_shielded_ = m.shield != nullptr;
    work_.behave(m);
}

/// Whether the outermost block has promised to write nothing.
bool enlistment::is_reader() const noexcept { return descriptor_.run.how->read_only; }

void enlistment::note_defeat(rollback_reason why) noexcept {
    ++defeats_;
    work_in_vain_ += 1 + static_cast<std::int64_t>(work_.entries().size());
    tally_.doom(why);
}

bool enlistment::stand(std::uint64_t& at) {
    core::descriptor& d = descriptor_;
    // Nothing stands, and what the snapshot holds beside was committed before this was asked.
    if (d.reads() == 0) return true;
    for (int turn = 0; turn < 16; ++turn) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_stand(d)) return false;
        if (d.snapshot_bound == before) return true;
        // The look has moved the snapshot: what it holds now was committed when the clock said no more than this.
        at = std::max(at, site_.clock.now());
    }
    return false;  // others commit faster than this can look
}

void enlistment::restart() {
    note_defeat(work_.why());
    api::start_over(descriptor_);
}

void enlistment::note_to_open_again() {
    again_.clear();
    for (const auto& e : work_.entries()) {
        if (e->user != nullptr) again_.push_back(e->id);
    }
}

void enlistment::try_to_go_back() {
    if (work_.is_snapshot()) return;  // its time stays, and what is wrong with it is wrong for all that it opens
    if (!work_.standing()) return api::go_back_over_reads(descriptor_);
    const tutti::detail::frame* const to = way_back(*work_.standing(), work_.entries().size());
    if (to == nullptr) return;
    tally_.rewound();
    note_to_open_again();
    api::go_back(descriptor_, *to);
}

void enlistment::forget_objects(std::size_t kept) noexcept {
    for (std::size_t i = kept; i < work_.entries().size(); ++i) work_.entries()[i]->user = nullptr;
    work_.rewind(kept);
    looked_at_ = std::min(looked_at_, kept);
}

void enlistment::fail(outcome o) {
    if (o == outcome::conflict) {
        try_to_go_back();
        restart();
    }
    if (o == outcome::too_large) body_.refuse_large();
    tally_.doom(work_.why());
    body_.refuse_lost(work_.lost_node(), o == outcome::uncertain);
}

// What follows is written so that what it does for an object at hand of one word calls nothing, and needs no more
// registers than a caller need not keep; whatever else there is to do is a function that it ends with.

template <bool Writes>
TUTTI_ALWAYS_INLINE bool enlistment::may_open_at_hand() noexcept {
    const core::descriptor& d = descriptor_;
    // Sound, and not irrevocable (I2 there): who kills it closes the bounds. What begins alone is a block of the
    // language, so this one would be nested in it; and what a nested block opens is a step. What is to be opened again
    // comes in the same trip.
    if (d.slow_path != 0 || d.logged_bound_.load(std::memory_order_relaxed) == 0 || d.frame_->parent != nullptr ||
        (Writes && d.frame_->read_only)) [[unlikely]]
        return false;
    return joined() ? again_.empty() : begin_lightly();
}

TUTTI_ALWAYS_INLINE bool enlistment::take_at_hand(entry& e, detail::slot& into, const object_id& id,
                                                  const detail::hint& found, const detail::image& to) noexcept {
    if (!work_.open_at_hand(e, id, static_cast<shown*>(found.get()), to)) [[unlikely]]
        return false;
    into.exists = true;
    into.written = false;
    into.decoded = true;
    e.user = &into;
    return true;
}

TUTTI_ALWAYS_INLINE detail::slot& enlistment::open_at_hand(const object_id& id, detail::hint& found) {
    if (!work_.scans()) [[unlikely]]
        return find_or_open(id, found);
    if (const entry* const open = work_.find_by_scan(id); open != nullptr) {
        if (open->user == nullptr) [[unlikely]]
            return find_or_open(id, found);
        return *static_cast<detail::slot*>(open->user);
    }
    if (!work_.may_be_at_hand()) [[unlikely]]
        return find_or_open(id, found);
    entry& e = work_.next_at_hand();
    auto* const s = static_cast<detail::slot*>(e.kept);
    if (s == nullptr || s->value == nullptr) [[unlikely]]
        return find_or_open(id, found);
    constexpr std::size_t word = sizeof(std::uint64_t);
    const detail::image& to = s->value->copied();
    if (to.size != word) return open_larger(id, found);
    if (!take_at_hand(e, *s, id, found, {to.at, word, to.tag})) [[unlikely]]
        return find_or_open(id, found);
    return *s;
}

detail::slot& enlistment::open_larger(const object_id& id, detail::hint& found) {
    entry& e = work_.next_at_hand();
    auto& s = *static_cast<detail::slot*>(e.kept);
    return take_at_hand(e, s, id, found, s.value->copied()) ? s : find_or_open(id, found);
}

detail::slot& enlistment::open(const object_id& id, detail::hint& found) {
    return may_open_at_hand<false>() ? open_at_hand(id, found) : find_or_open(id, found);
}

detail::slot& enlistment::open_to_write(const object_id& id, detail::hint& found) {
    if (!may_open_at_hand<true>()) [[unlikely]]
        return opened::open_to_write(id, found);
    note_write();
    return open_at_hand(id, found);
}

detail::slot& enlistment::find_or_open(const object_id& id, detail::hint& found) {
    api::require_sound(descriptor_);
    touch();
    entry* e = work_.find(id);
    if (e == nullptr) {
        if (auto* const at = static_cast<shown*>(found.get()); at != nullptr) work_.expect(id, *at);
        open_new({&id, 1});
        e = work_.find(id);
    }
    if (e->user == nullptr) {
        if (e->kept == nullptr) e->kept = &slot_number(slots());
        auto& s = *static_cast<detail::slot*>(e->kept);
        fill(s, e->bytes, e->exists);
        e->user = &s;
    }
    if (e->at.seen != nullptr) found.set(e->at.seen);
    return *static_cast<detail::slot*>(e->user);
}

void enlistment::open(std::span<const object_id> ids) {
    touch();
    if (std::ranges::all_of(ids, [this](const object_id& id) { return work_.find(id) != nullptr; })) return;
    open_new(ids);
}

void enlistment::ask_ahead(std::span<const object_id> ids) {
    touch();
    // What was asked for before is opened now, and belongs to the block that is open now.
    begin_step(work_.entries().size());
    if (const outcome o = work_.ask_ahead(ids); o != outcome::good) fail(o);
}

outcome enlistment::open_in_the_end(std::span<const object_id> ids) {
    outcome o = work_.open(ids);
    // Others hold them for the time of a commit; if the token's home has lost this node, another irrevocable block may.
    while (o == outcome::conflict && work_.is_bound()) {
        if (!claims_.token_stands()) fail_to_claim(outcome::lost);
        o = work_.open(ids);
    }
    return o;
}

void enlistment::open_new(std::span<const object_id> ids) {
    const std::size_t known = work_.entries().size();
    begin_step(known);
    if (!again_.empty()) {
        again_.insert(again_.begin(), ids.begin(), ids.end());
        const outcome o = open_in_the_end(again_);
        again_.clear();
        if (o == outcome::good) return;
        if (o == outcome::conflict) fail(o);
        work_.rewind(known);  // the body may do without what cannot be had
    }
    if (const outcome o = open_in_the_end(ids); o != outcome::good) fail(o);
}

bool enlistment::snapshot_moved() {
    tell();
    if (!joined() || work_.empty()) return true;
    // A snapshot of the objects stays where it is, and the variable may depend on what came after it.
    if (work_.is_snapshot()) {
        note_defeat(rollback_reason::variables);
        return false;
    }
    // What the snapshot now holds was committed when the clock said no more than it does now. Every object anew, also
    // if the clock stands where it stood: a commit without objects draws no version, and may have overwritten what one
    // with objects had read here, which holds its locks until it draws.
    const outcome o = look_anew();
    if (o == outcome::good) return true;
    if (o != outcome::conflict) {
        spoilt_ = true;  // the variables have moved on, whatever the body makes of the error
        fail(o);
    }
    try_to_go_back();
    note_defeat(work_.why());
    return false;
}

outcome enlistment::look_anew() {
    const outcome o = work_.forward(site_.clock.now(), true);
    looked_at_ = o == outcome::good ? work_.entries().size() : 0;
    return o;
}

void enlistment::look_again() {
    tell();
    // Of checkpoints in each other, only the innermost one has done anything since.
    if (!joined() || work_.empty() || work_.is_snapshot() || broken(fault::forget_to_look_again)) return;
    if (looked_at_ == work_.entries().size()) return;
    if (const outcome o = look_anew(); o != outcome::good) fail(o);
}

bool enlistment::encode_writes() {
    bool any = false;
    constexpr std::size_t around_it = 64;  // in a message
    const bool travels = site_.nodes > 1;
    const std::size_t most = site_.largest - std::min(site_.largest, around_it);
    for (const auto& of : work_.entries()) {
        entry& e = *of;
        if (e.user == nullptr) continue;
        const auto& s = *static_cast<const detail::slot*>(e.user);
        if (!s.written) continue;
        e.written = s.exists || e.exists;  // made and erased again: as if never touched
        e.will_exist = s.exists;
        any = any || e.written;
        if (!e.written || !s.exists) {
            e.fresh.clear();
            e.copied = {};
            continue;
        }
        e.copied = s.value->copied();
        if (!e.copied.exists()) s.value->encode(e.fresh);
        const std::size_t size = e.copied.exists() ? sizeof e.copied.tag + e.copied.size : e.fresh.size();
        if (travels && size > most) body_.refuse_large();  // here as well: no other node could read it
    }
    return any;
}

void enlistment::end_claims() noexcept {
    if (blocks_of_undo_ != 0) --blocks_of_undo_;
    else claims_.release();
}

void enlistment::end_attempt(timeline_end how) noexcept {
    tally_.contended(work_.waits(), work_.is_shielded());
    work_.end_snapshot();
    end_claims();
    if (tally_.running() == 1) line_.attempt_ends(how, tally_.doom());
}

void enlistment::acquire(std::span<const named_lock> locks) {
    if (descriptor_.bound_to_commit()) {
        throw usage_error{
            "tutti: an irrevocable transaction asks for an abstract lock by name, whose holder on another node cannot "
            "be made to give it up: take it in a block of its own"};
    }
    touch();
    std::vector<wire::claim_item> wanted;
    for (const named_lock& l : locks) wanted.push_back({l.name, l.shared});
    const outcome o = claims_.take(wanted, family());
    if (o == outcome::good) return;
    if (o != outcome::conflict) fail_to_claim(o);
    note_defeat(rollback_reason::busy);
    api::start_over(descriptor_);
}

/// Of the blocks around this one, whose locks are not in its way.
const transaction_name& enlistment::family() const {
    core::descriptor* outermost = &descriptor_;
    while (outermost->outer != nullptr) outermost = outermost->outer;
    return static_cast<const enlistment&>(body_.here(*outermost)).claims_.name();
}

void enlistment::fail_to_claim(outcome o) {
    if (o == outcome::too_large) {
        throw usage_error{"tutti: a block holds no more than " + std::to_string(wire::most_elements) +
                          " abstract locks whose names have their home on one node, and asks for no more than fit "
                          "into one message: take one for many of its operations"};
    }
    tally_.doom(rollback_reason::lost);
    body_.refuse_lost(claims_.lost_node(), false);
}

void enlistment::refuse_second_cluster() const {
    for (const core::deferred& e : descriptor_.deferred_log) {
        if (e.what != core::deferred::kind::companion) continue;
        const auto* const other = dynamic_cast<const enlistment*>(static_cast<const participant*>(e.object));
        if (other == nullptr || other == this || !other->work_.is_bound()) continue;
        throw usage_error{
            "tutti: an irrevocable block uses objects of two clusters, in each of which one such block runs at a time: "
            "two of them could wait for each other for ever. Use those of one cluster"};
    }
}

void enlistment::bind() {
    refuse_second_cluster();
    outcome o = claims_.take_token(family());
    while (o == outcome::conflict) o = claims_.take_token(family());
    if (o != outcome::good) fail_to_claim(o);
    again_.clear();
    if (work_.is_snapshot()) {
        static_cast<void>(work_.begin());  // no local read of an irrevocable block is stale
        line_.works_for(work_.name().sequence);
    }
    static_cast<void>(work_.bind(claims_));  // of nothing
}

bool enlistment::hold_still() {
    tell();
    if (!joined() || work_.empty() || work_.is_bound()) return true;
    refuse_second_cluster();
    if (work_.is_snapshot()) return false;  // of the past
    outcome o = claims_.take_token(family());
    if (o != outcome::good && o != outcome::conflict) fail_to_claim(o);
    if (o == outcome::conflict) {
        note_defeat(rollback_reason::busy);
        return false;
    }
    o = work_.bind(claims_);
    if (o == outcome::good) return true;
    if (o != outcome::conflict) fail(o);
    note_defeat(work_.why());
    return false;
}

bool enlistment::commit_alone() noexcept {
    if (weight_ != weight::light) return false;
    if (may_write()) return write_in_place();
    pass();
    return true;
}

bool enlistment::write_in_place() noexcept {
    std::array<store::spot, store::most_at_once> spots;
    const auto entries = work_.entries();
    bool any = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const entry& e = *entries[i];
        const auto& s = *static_cast<const detail::slot*>(e.user);
        spots[i].at = e.at.seen;
        spots[i].word = e.at.word;
        spots[i].written.at = nullptr;
        if (!s.written) continue;
        spots[i].written = s.value->copied();
        if (!s.exists || !spots[i].written.exists()) return false;
        any = true;
    }
    std::uint64_t version = 0;
    if (any && !site_.objects.commit_in_place({spots.data(), entries.size()}, version)) return false;
    pass();
    return true;
}

vote enlistment::prepare() {
    tell();
    // Others may have got the locks that a lost home kept.
    if (!claims_.stand()) fail_to_claim(outcome::lost);
    if (descriptor_.bound_to_commit() && !work_.empty()) touch();
    if (spoilt_) {
        note_defeat(rollback_reason::lost);
        return vote::restart;
    }
    const bool writes = may_write() && encode_writes();
    // Readers have an order already: at work_.time(), which the local reads fit in. Where others order by the vote, or
    // act at the decision, what was read has to be current then.
    const bool is_only_one = core::has_only_one_voter(descriptor_);
    if (!writes && descriptor_.writes.empty() && (is_only_one || api::decides_nothing_else(descriptor_)))
        return vote::commit;
    const bool no_variables = descriptor_.writes.empty() && descriptor_.reads() == 0;
    const bool alone = is_only_one ? no_variables : api::is_all_of(descriptor_);
    if (alone && work_.prepare_in_place()) return vote::commit;
    const outcome o = work_.prepare(alone);
    if (o == outcome::good) {
        // All locks are held, here and there; what was only read here was not locked.
        if (alone || api::reads_stand(descriptor_)) return vote::commit;
        work_.abort();
        note_defeat(rollback_reason::variables);
        return vote::restart;
    }
    if (o != outcome::conflict) fail(o);
    note_defeat(work_.why());
    return vote::restart;
}

void enlistment::commit() noexcept {
    if (work_.holds()) work_.commit();
    end_attempt(timeline_end::committed);
    defeats_ = 0;
    tally_.committed();
    note_what_is_left();
}

void enlistment::abort() noexcept { work_.abort(); }

void enlistment::rolled_back() noexcept {
    tell();
    end_attempt(timeline_end::rolled_back);
    tally_.rolled_back();
}

bool enlistment::heed_retry() {
    tell();
    tally_.doom(rollback_reason::retry);
    if (!joined() || work_.empty()) return true;
    static_cast<void>(bell_.get(descriptor_));
    std::vector<backend::check> watched;
    for (const auto& e : work_.entries()) watched.push_back({key_of(e->id), e->version});
    // Before the owners are asked: what they tell finds the bell. They can always be heard, but while the node ends.
    if (!body_.bells().enrol(bell_, watched)) restart();
    enrolled_ = true;
    if (const outcome o = work_.watch(); o != outcome::good) fail(o);
    return true;
}

}  // namespace tutti::cluster
