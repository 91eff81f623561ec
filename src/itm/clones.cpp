// Clone tables: they map functions to their transactional clones. Each loaded object registers a table of pairs, and
// removes the table when the object is unloaded.
//
// Thread safety: a table is copied and sorted by function when it is registered. The list of tables is never changed,
// only replaced by a new list, under a lock. A thread searches for a function only inside a transaction, and continues
// with the list that it has read. A replaced list is retired like memory that a transaction has freed.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "itm/block.hpp"
#include "itm/block_counters.hpp"
#include "itm/registration_lock.hpp"

namespace tutti::itm {
namespace {

/// An entry as it is in the object file.
struct clone_entry {
    void* function;
    void* transactional;
};

struct clone_table {
    const void* address_in_object;  // address of the table in its object, which identifies the table
    std::vector<clone_entry> sorted;
};

using clone_tables = std::vector<clone_table>;

std::atomic<const clone_tables*> loaded{nullptr};

[[noreturn]] void die_of_table(const char* what, const void* given, std::size_t entry) noexcept {
    char message[256];
    std::snprintf(message, sizeof message,
                  "the clone table at %p %s (entry %zu); the object that registers it is damaged", given, what, entry);
    api::panic(message);
}

bool by_function(const clone_entry& a, const clone_entry& b) noexcept { return a.function < b.function; }

/// The entries are checked in the given order, because messages contain their numbers.
std::span<const clone_entry> checked_entries(const void* given, std::size_t count) noexcept {
    if (given == nullptr && count != 0) die_of_table("is null", given, 0);
    // No object is larger than PTRDIFF_MAX bytes.
    if (count > PTRDIFF_MAX / sizeof(clone_entry))
        die_of_table("has more entries than memory has room for", given, count);
    const std::span entries{static_cast<const clone_entry*>(given), count};
    for (std::size_t i = 0; i != count; ++i) {
        if (entries[i].function == nullptr) die_of_table("names no function", given, i);
        if (entries[i].transactional == nullptr) die_of_table("names no clone", given, i);
    }
    return entries;
}

clone_table copy_of(const void* given, std::span<const clone_entry> entries) {
    clone_table t{given, {entries.begin(), entries.end()}};
    std::sort(t.sorted.begin(), t.sorted.end(), by_function);
    return t;
}

/// REQUIRES: `registration_lock` is held.
void replace(const clone_tables* by) {
    const clone_tables* const old = loaded.exchange(by, std::memory_order_acq_rel);
    if (old != nullptr) {
        api::retire(const_cast<clone_tables*>(old), [](void* p) { delete static_cast<const clone_tables*>(p); });
    }
}

void* find(void* function) noexcept {
    const clone_tables* const all = loaded.load(std::memory_order_acquire);
    if (all == nullptr) return nullptr;
    for (const clone_table& t : *all) {
        const auto at = std::lower_bound(t.sorted.begin(), t.sorted.end(), clone_entry{function, nullptr}, by_function);
        if (at != t.sorted.end() && at->function == function) return at->transactional;
    }
    return nullptr;
}

}  // namespace
}  // namespace tutti::itm

using namespace tutti::itm;

TUTTI_ITM void _ITM_registerTMCloneTable(void* entries, std::size_t count) noexcept {
    const auto given = checked_entries(entries, count);
    const std::lock_guard guard{registration_lock};
    const clone_tables* const before = loaded.load(std::memory_order_acquire);
    auto* const after = before != nullptr ? new clone_tables{*before} : new clone_tables;
    after->push_back(copy_of(entries, given));
    replace(after);
}

TUTTI_ITM void _ITM_deregisterTMCloneTable(void* entries) noexcept {
    const std::lock_guard guard{registration_lock};
    const clone_tables* const before = loaded.load(std::memory_order_acquire);
    const auto is_it = [entries](const clone_table& t) { return t.address_in_object == entries; };
    if (before == nullptr || std::none_of(before->begin(), before->end(), is_it)) {
        die_of_table("is deregistered, but was never registered", entries, 0);
    }
    auto* const after = new clone_tables;
    std::copy_if(before->begin(), before->end(), std::back_inserter(*after),
                 [&](const clone_table& t) { return !is_it(t); });
    replace(after);
}

TUTTI_ITM void* _ITM_getTMCloneOrIrrevocable(void* function) noexcept {
    if (void* const found = find(function)) return found;
    descriptor& d = current();
    if (!runtime_state_of(d).direct) {
        run_alone(d, "a call of a function without a transactional clone",
                  {switch_reason::no_clone, __builtin_return_address(0), function});
        release_resources(d);
    }
    return function;
}

TUTTI_ITM void* _ITM_getTMCloneSafe(void* function) noexcept {
    if (void* const found = find(function)) return found;
    char where[256];
    char message[512];
    std::snprintf(message, sizeof message,
                  "a transaction-safe call reached %s, which has no transactional clone; compile it with -fgnu-tm, and "
                  "without -flto",
                  describe(function, where, sizeof where));
    tutti::api::panic(message);
}
