#include "itm/journal.hpp"

#include "api/report.hpp"
#include "itm/landmarks.hpp"

namespace tutti::itm {

constinit std::atomic<journal*> journal::newest_{nullptr};

journal* journal::make(const descriptor& owner) noexcept {
    if (!api::report_wanted()) return nullptr;
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
        // name_all() names the address at the end, if its object is still loaded
    }
}

void journal::name_all() noexcept {
    for (const void* const address : unnamed_) remember(address);
    unnamed_.clear();
}

const void* journal::in_the_way() const noexcept {
    const descriptor* const other = api::rival_of(owner_, owner_.cause);
    return other != nullptr ? shown_by(*other) : nullptr;
}

const void* journal::shown_by(const descriptor& other) noexcept {
    for (const journal* j = newest_.load(std::memory_order_acquire); j != nullptr; j = j->older_) {
        if (&j->owner_ == &other) return j->shown_.load(std::memory_order_relaxed);
    }
    return nullptr;
}

void journal::count_waits(descriptor& d) noexcept {
    const core::serial_wait_state waited = std::exchange(d.serial_wait, {});
    if (now_ == nullptr) return;
    if (counter* const c = now_->waits.at(shown_by(*waited.owner))) c->add(waited.ticks);
}

void journal::note_abort(abort_cause cause, const void* with, bool partial) noexcept {
    if (now_ == nullptr) return;
    if (counter* const c = now_->aborts.at({cause, partial, with})) c->add_one();
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
    const std::uint64_t end = base::ticks();
    if (const std::uint64_t since = std::exchange(alone_since_, 0); since != 0) now_->alone_ticks.add(end - since);
    // Null if the block was restarted since: then it has been counted before.
    switch_count* const s = std::exchange(switched_, nullptr);
    if (s == nullptr || started_ == 0) return;
    s->timed.add_one();
    s->ticks_before.add(before_switch_);
    s->ticks_whole.add(end - started_);
}

void journal::reset() noexcept {
    // The lists stay: the addresses in them are still valid.
    for (journal* j = newest_.load(std::memory_order_acquire); j != nullptr; j = const_cast<journal*>(j->older_)) {
        // A block that is open now began earlier.
        j->now_ = nullptr;
        j->switched_ = nullptr;
        j->alone_since_ = 0;
        j->accounts_.for_each_to_change([](account& a) {
            for (counter* c :
                 {&a.executions, &a.commits, &a.cancelled, &a.only_one, &a.nested, &a.lost_ticks, &a.alone_ticks})
                c->reset();
            a.waits.for_each_to_change([](counter& c) { c.reset(); });
            a.aborts.for_each_to_change([](counter& c) { c.reset(); });
            a.switches.for_each_to_change([](switch_count& s) {
                for (counter* c : {&s.times, &s.accesses, &s.timed, &s.ticks_before, &s.ticks_whole}) c->reset();
            });
        });
    }
}

}  // namespace tutti::itm
