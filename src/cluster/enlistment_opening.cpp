// How a block opens objects, at hand or elsewhere, and what happens when other transactions have changed them.
#include <algorithm>
#include <utility>

#include "cluster/enlistment.hpp"
#include "cluster/fault_injection.hpp"
#include "cluster/peer_body.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

// The following functions are written for an object at hand of one word. For such an object they call nothing, and they
// use only registers that the caller does not need saved. All other work is in functions that are called last (tail
// calls).

template <bool Writes>
TUTTI_ALWAYS_INLINE bool enlistment::may_open_at_hand() noexcept {
    const core::descriptor& d = descriptor_;
    // The attempt is sound and not irrevocable (I2 of core::descriptor); a kill closes the bounds. An object that a
    // nested block opens is a step. Objects to be opened again come in the same trip as the next object.
    return d.slow_path == 0 && d.logged_bound_.load(std::memory_order_relaxed) != 0 && d.frame_->parent == nullptr &&
           !(Writes && d.frame_->read_only) && !light_.runs() && joined() && again_.empty();
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
    api::require_access(descriptor_);
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
    // Objects that were asked for before are opened now, so they belong to the block that is open now.
    begin_step(work_.entries().size());
    if (const outcome o = work_.ask_ahead(ids); o != outcome::good) fail(o);
}

outcome enlistment::open_in_the_end(std::span<const object_id> ids) {
    outcome o = work_.open(ids);
    // Other transactions hold the objects for the time of a commit. If the token's home has lost this node, another
    // irrevocable block may hold them.
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
        work_.rewind(known);  // the body may not need the objects that are unavailable
    }
    if (const outcome o = open_in_the_end(ids); o != outcome::good) fail(o);
}

bool enlistment::snapshot_moved() {
    tell();
    if (!joined() || work_.empty()) return true;
    // The snapshot of the objects stays at its time, but the variable may depend on commits after that time.
    if (work_.is_snapshot()) {
        note_defeat(rollback_reason::variables);
        return false;
    }
    // The new content of the variables' snapshot was committed when the clock said no more than it does now. Every
    // object is validated again, even if the clock has not moved. A commit without objects draws no version. Such a
    // commit may have overwritten a variable that a commit with objects had read here. The commit with objects holds
    // its locks until it draws its version.
    const outcome o = look_anew();
    if (o == outcome::good) return true;
    if (o != outcome::conflict) {
        spoilt_ = true;  // the variables have moved on, even if the body catches the error
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

void enlistment::recheck() {
    tell();
    // Of nested checkpoints that end together, only the innermost one has done anything since the last validation.
    if (!joined() || work_.empty() || work_.is_snapshot() || injected(fault::forget_to_look_again)) return;
    if (looked_at_ == work_.entries().size()) return;
    if (const outcome o = look_anew(); o != outcome::good) fail(o);
}

void enlistment::note_to_open_again() {
    again_.clear();
    for (const auto& e : work_.entries()) {
        if (e->user != nullptr) again_.push_back(e->id);
    }
}

void enlistment::try_to_go_back() {
    if (work_.is_snapshot()) return;  // the snapshot's time stays, so every object opened at it would conflict again
    if (!work_.standing()) return api::roll_back_to_valid_reads(descriptor_);
    const tutti::detail::frame* const to = way_back(*work_.standing(), work_.entries().size());
    if (to == nullptr) return;
    tally_.rewound();
    note_to_open_again();
    api::roll_back_to(descriptor_, *to);
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

}  // namespace tutti::cluster
