#include "itm/journal.hpp"

#include "core/conflict/encounter.hpp"
#include "itm/landmarks.hpp"
#include "itm/report.hpp"

namespace tutti::itm {

constinit std::atomic<journal*> journal::newest_{nullptr};

namespace {

/// The number of the descriptor that wrote last to something that d has read and that has changed since, or nobody. The
/// log of an attempt outlives it.
std::uint32_t overtaker_of(const descriptor& d) noexcept {
    for (const memory::orec* const* r = d.read_begin; r != d.read_next_; ++r) {
        const core::word seen = (*r)->load(std::memory_order_acquire);
        if (memory::is_locked(seen) && !d.owns(seen)) return memory::owner_of(seen);
        if (!memory::is_version(seen) || seen <= d.snapshot_bound || memory::written_by(seen, d.own_writer)) continue;
        const core::word writer = seen & memory::writer_mask;
        return writer == memory::anonymous ? core::nobody : static_cast<std::uint32_t>(writer);
    }
    return core::nobody;
}

/// Which descriptor was in the way of an attempt that ended for `cause`, as far as can be seen, or nobody.
std::uint32_t other_of(const descriptor& d, abort_cause cause) noexcept {
    switch (cause) {
        case abort_cause::conflict_read_locked:
        case abort_cause::conflict_write_locked:
        case abort_cause::conflict_visible_read:
            return d.run.in_the_way.who != nullptr ? d.run.in_the_way.who->id : core::nobody;
        case abort_cause::validation: return overtaker_of(d);
        case abort_cause::killed: return api::last_killer_of(d);
        default: return core::nobody;
    }
}

}  // namespace

journal* journal::make(const descriptor& owner) noexcept {
    if (!report_wanted()) return nullptr;
    auto* const j = new (std::nothrow) journal{owner};
    if (j == nullptr) return nullptr;
    journal* before = newest_.load(std::memory_order_relaxed);
    do {
        j->older_ = before;
    } while (!newest_.compare_exchange_weak(before, j, std::memory_order_release, std::memory_order_relaxed));
    return j;
}

account* journal::find(const void* block) noexcept {
    account* const found = accounts_.at(block, [this](const void* b) { name_later(b); });
    if (found != nullptr) cache_[reinterpret_cast<std::uintptr_t>(block) / 4 % cached] = {block, found};
    return found;
}

void journal::name_later(const void* address) noexcept {
    if (address == nullptr) return;
    try {
        unnamed_.push(address);
    } catch (const std::bad_alloc&) {
        // it is named in the end, if its object is still there
    }
}

void journal::name_all() noexcept {
    for (const void* const address : unnamed_) remember(address);
    unnamed_.clear();
}

const void* journal::in_the_way() const noexcept {
    const std::uint32_t other = other_of(owner_, owner_.cause);
    if (other == core::nobody) return nullptr;
    for (const journal* j = newest_.load(std::memory_order_acquire); j != nullptr; j = j->older_) {
        if (j->owner_.id == other) return j->shown_.load(std::memory_order_relaxed);
    }
    return nullptr;
}

void journal::note_abort(abort_cause cause, const void* with, bool partial) noexcept {
    if (now_ == nullptr) return;
    if (counter* const c = now_->aborts.at({cause, partial, with}, [](const abort_key&) {})) c->add_one();
    if (partial) return;
    switched_ = nullptr;
    ended_ = base::ticks();
    if (started_ != 0) now_->lost_ticks.add((ended_ - started_) * weight_);
}

void journal::begin_again(const void* block) noexcept {
    now_ = account_of(block);
    if (now_ == nullptr) return;
    started_ = base::ticks();
    weight_ = 1;
    now_->lost_ticks.add(started_ - ended_);
}

void journal::note_switch(const switch_key& why) noexcept {
    if (now_ == nullptr) return;
    switched_ = now_->switches.at(why, [this](const switch_key& k) {
        name_later(k.where);
        name_later(k.callee);
    });
    if (switched_ == nullptr) return;
    switched_->times.add_one();
    switched_->accesses.add(owner_.reads() + owner_.writes.size());
    before_switch_ = started_ != 0 ? base::ticks() - started_ : 0;
}

void journal::end_switched() noexcept {
    switch_count& s = *std::exchange(switched_, nullptr);
    if (started_ == 0) return;
    s.timed.add_one();
    s.ticks_before.add(before_switch_);
    s.ticks_whole.add(base::ticks() - started_);
}

void journal::reset() noexcept {
    // The lists stay: what they name is still where it was.
    for (journal* j = newest_.load(std::memory_order_acquire); j != nullptr; j = const_cast<journal*>(j->older_)) {
        // A block that is open here began before.
        j->now_ = nullptr;
        j->switched_ = nullptr;
        j->accounts_.for_each_to_change([](account& a) {
            for (counter* c : {&a.executions, &a.commits, &a.cancelled, &a.only_one, &a.nested, &a.lost_ticks})
                c->reset();
            a.aborts.for_each_to_change([](counter& c) { c.reset(); });
            a.switches.for_each_to_change([](switch_count& s) {
                for (counter* c : {&s.times, &s.accesses, &s.timed, &s.ticks_before, &s.ticks_whole}) c->reset();
            });
        });
    }
}

}  // namespace tutti::itm
