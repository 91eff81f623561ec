#include "cluster/enlistment.hpp"

#include <algorithm>

#include "cluster/key.hpp"
#include "cluster/peer_body.hpp"
#include "core/conflict/contention_rank.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

enlistment::enlistment(site& here, line& to, core::descriptor& of, peer_body& body)
    : opened{of},
      site_{here},
      line_{to},
      body_{body},
      work_{here, to, to.slot, this},
      claims_{here, to, to.slot},
      light_{body} {}

enlistment::~enlistment() { body_.bells().withdraw(bell_); }

void enlistment::touch_first() {
    may_be_light_ = false;
    descriptor_.at_hand_ = &light_;
    is_modest_ = join();
    if (is_modest_ && descriptor_.run.how->policy == tutti::policy::standard)
        modest_ = core::chosen_policy.load(std::memory_order_relaxed);
    begin_attempt();
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
    if (tally_.running() == 1) line_.attempt_begins();  // blocks of undo actions belong to the attempt that they undo
    if (!stands) {
        api::roll_back_to_valid_reads(descriptor_);
        restart();
    }
    if (!snapshot) mind_others();
}

void enlistment::pause_after_defeat() {
    // The objects that the shielded attempt had reserved are free for this one, unless another transaction goes first.
    if (was_shielded_ && !work_.was_outranked()) return;
    if (api::remote_contention_of(descriptor_).rules.may_pause) line_.pause(defeats_);
}

enlistment& enlistment::leader() {
    core::descriptor* d = &descriptor_;
    while (d->outer != nullptr && d->outer->running()) d = d->outer;
    if (d == &descriptor_) return *this;
    auto& whole = static_cast<enlistment&>(body_.here(*d));
    if (!whole.joined()) return *this;
    whole.tell();  // the leader may get an age
    return whole;
}

void enlistment::mind_others() {
    using enum core::remote_conflict_rules::precedence_rule;
    // Handles the common case of a first attempt.
    if (defeats_ == 0 && is_modest_) {
        was_shielded_ = false;
        return;
    }
    const api::remote_contention c = api::remote_contention_of(descriptor_);
    manners m{.waits = c.rules.may_wait};
    enlistment& whose = leader();
    const bool has_lost = whose.defeats_ != 0;
    bool asserts = true;
    switch (c.rules.precedence) {
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

/// Returns true if the outermost block has promised to write nothing.
bool enlistment::is_reader() const noexcept { return descriptor_.run.how->read_only; }

void enlistment::note_defeat(rollback_reason why) noexcept {
    ++defeats_;
    work_in_vain_ += 1 + static_cast<std::int64_t>(work_.entries().size());
    tally_.doom(why);
}

bool enlistment::stand(std::uint64_t& at) {
    core::descriptor& d = descriptor_;
    // Without local reads, nothing can be stale. The rest of the snapshot was committed before this call.
    if (d.reads() == 0) return true;
    for (int turn = 0; turn < 16; ++turn) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_are_valid(d)) return false;
        if (d.snapshot_bound == before) return true;
        // The validation has moved the snapshot. The snapshot's new content was committed when the clock said no more
        // than it does now.
        at = std::max(at, site_.clock.now());
    }
    return false;  // other transactions commit faster than this one can validate
}

void enlistment::restart() {
    note_defeat(work_.why());
    api::restart_attempt(descriptor_);
}

bool enlistment::encode_writes() {
    bool any = false;
    constexpr std::size_t around_it = 64;  // bytes of a message beside the value
    const bool travels = site_.nodes > 1;
    const std::size_t most = site_.largest - std::min(site_.largest, around_it);
    for (const auto& of : work_.entries()) {
        entry& e = *of;
        if (e.user == nullptr) continue;
        const auto& s = *static_cast<const detail::slot*>(e.user);
        if (!s.written) continue;
        e.written = s.exists || e.exists;  // created and erased: as if untouched
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
        if (travels && size > most) body_.refuse_large();  // also if the object is here: no other node could read it
    }
    return any;
}

void enlistment::end_claims() noexcept {
    if (blocks_of_undo_ != 0) --blocks_of_undo_;
    else claims_.release();
}

void enlistment::end_attempt(timeline_end how) noexcept {
    descriptor_.at_hand_ = nullptr;
    tally_.contended(work_.waits(), work_.is_shielded());
    work_.end_snapshot();
    end_claims();
    if (tally_.running() == 1) line_.attempt_ends(how, tally_.doom());
}

vote enlistment::prepare() {
    tell();
    // Other transactions may have got the locks that a lost home kept.
    if (!claims_.stand()) fail_to_claim(outcome::lost);
    if (descriptor_.must_commit() && !work_.empty()) touch();
    if (spoilt_) {
        note_defeat(rollback_reason::lost);
        return vote::restart;
    }
    const bool writes = may_write() && encode_writes();
    // A transaction that has only read already has its order: at work_.time(), which the local reads fit. If other
    // participants order by the vote, or act at the decision, the reads have to be current at the vote.
    const bool is_only_one = core::has_one_participant_only(descriptor_);
    if (!writes && descriptor_.writes.empty() && (is_only_one || api::is_sole_voter(descriptor_))) return vote::commit;
    const bool no_variables = descriptor_.writes.empty() && descriptor_.reads() == 0;
    const bool alone = is_only_one ? no_variables : api::is_sole_participant(descriptor_);
    if (alone && work_.prepare_in_place()) return vote::commit;
    const outcome o = work_.prepare(alone);
    if (o == outcome::good) {
        // All locks are held, here and on other nodes. Variables that were only read are not locked.
        if (alone || api::reads_are_valid(descriptor_)) return vote::commit;
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
    // Enrols before the owners are asked, so that their reports find the bell. Enrolling fails only while the node
    // ends.
    if (!body_.bells().enrol(bell_, watched)) restart();
    enrolled_ = true;
    if (const outcome o = work_.watch(); o != outcome::good) fail(o);
    return true;
}

}  // namespace tutti::cluster
