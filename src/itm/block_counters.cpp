#include "itm/block_counters.hpp"

#include "api/report/report.hpp"
#include "itm/code_addresses.hpp"

namespace tutti::itm {

constinit std::atomic<block_counters*> block_counters::newest_{nullptr};

block_counters* block_counters::make(const descriptor& owner) noexcept {
    if (!api::report_wanted()) return nullptr;
    auto* const j = new (std::nothrow) block_counters{owner};
    if (j == nullptr) return nullptr;
    block_counters* before = newest_.load(std::memory_order_relaxed);
    do {
        j->older_ = before;
    } while (!newest_.compare_exchange_weak(before, j, std::memory_order_release, std::memory_order_relaxed));
    return j;
}

block_entry* block_counters::find_entry(const void* block) noexcept {
    block_entry* const found = entries_.at(block, [this](const void* b) { resolve_later(b); });
    if (found != nullptr) cache_[reinterpret_cast<std::uintptr_t>(block) / 4 % cached] = {block, found};
    return found;
}

void block_counters::resolve_later(const void* address) noexcept {
    if (address == nullptr) return;
    try {
        unresolved_.push(address);
    } catch (const std::bad_alloc&) {
        // resolve_all() resolves the address at the end, if the address's object is still loaded
    }
}

void block_counters::resolve_all() noexcept {
    for (const void* const address : unresolved_) record_address(address);
    unresolved_.clear();
}

const void* block_counters::conflicting_block() const noexcept {
    const descriptor* const other = api::conflicting_descriptor(owner_, owner_.cause);
    return other != nullptr ? block_shown_by(*other) : nullptr;
}

const void* block_counters::block_shown_by(const descriptor& other) noexcept {
    for (const block_counters* j = newest_.load(std::memory_order_acquire); j != nullptr; j = j->older_) {
        if (&j->owner_ == &other) return j->shown_block_.load(std::memory_order_relaxed);
    }
    return nullptr;
}

void block_counters::count_waits(descriptor& d) noexcept {
    const core::serial_wait_state waited = std::exchange(d.serial_wait, {});
    if (entry_ == nullptr) return;
    if (counter* const c = entry_->waits.at(block_shown_by(*waited.owner))) c->add(waited.ticks);
}

void block_counters::record_abort(abort_cause cause, const void* with, bool partial) noexcept {
    if (entry_ == nullptr) return;
    if (counter* const c = entry_->aborts.at({cause, partial, with})) c->add_one();
    if (partial) return;
    switched_ = nullptr;
    ended_ = base::ticks();
    if (started_ != 0) entry_->lost_ticks.add((ended_ - started_) * weight_);
}

void block_counters::begin_next_attempt(const void* block) noexcept {
    entry_ = entry_of_block(block);
    if (entry_ == nullptr) return;
    started_ = base::ticks();
    weight_ = 1;
    entry_->lost_ticks.add(started_ - ended_);
}

void block_counters::record_switch(const switch_key& why) noexcept {
    if (entry_ == nullptr) return;
    switched_ = entry_->switches.at(why, [this](const switch_key& k) {
        resolve_later(k.where);
        resolve_later(k.callee);
    });
    if (switched_ == nullptr) return;
    switched_->times.add_one();
    switched_->accesses.add(owner_.reads() + owner_.writes.size());
    before_switch_ = started_ != 0 ? base::ticks() - started_ : 0;
}

void block_counters::end_switched() noexcept {
    const std::uint64_t end = base::ticks();
    if (const std::uint64_t since = std::exchange(alone_since_, 0); since != 0) entry_->alone_ticks.add(end - since);
    // The pointer is null if the block has restarted since the switch. The switch was counted before the restart, and
    // is not timed.
    switch_count* const s = std::exchange(switched_, nullptr);
    if (s == nullptr || started_ == 0) return;
    s->timed.add_one();
    s->ticks_before.add(before_switch_);
    s->ticks_whole.add(end - started_);
}

void block_counters::reset() noexcept {
    // The lists are not cleared, because the addresses in them are still valid.
    for (block_counters* j = newest_.load(std::memory_order_acquire); j != nullptr;
         j = const_cast<block_counters*>(j->older_)) {
        // A block that is open now began before the reset, so it is not counted.
        j->entry_ = nullptr;
        j->switched_ = nullptr;
        j->alone_since_ = 0;
        j->entries_.for_each_to_change([](block_entry& a) {
            for (counter* c : {&a.executions, &a.commits, &a.cancelled, &a.single_threaded, &a.nested, &a.lost_ticks,
                               &a.alone_ticks})
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
