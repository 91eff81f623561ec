#include "core/lifecycle/retired.hpp"

#include <sched.h>

#include <new>

#include "base/fence.hpp"
#include "base/lock.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/commit_flags.hpp"
#include "core/waiting/waiting.hpp"
#include "memory/limbo.hpp"

namespace tutti::core {
namespace {

/// The lock of the thread that empties all limbos. A second thread waits for the lock, because the first thread may
/// have taken objects of the second.
constinit base::lock emptying_lock;

struct orphaned_limbo_guard {
    orphaned_limbo_guard() noexcept { memory::lock_orphaned_limbo(); }
    ~orphaned_limbo_guard() { memory::unlock_orphaned_limbo(); }
    orphaned_limbo_guard(const orphaned_limbo_guard&) = delete;
    orphaned_limbo_guard& operator=(const orphaned_limbo_guard&) = delete;
};

/// Moves all retired objects to `all`. Holds the lock of the orphaned objects meanwhile, so no object moves from a
/// limbo that is still to be visited to a limbo that has been visited.
void gather(memory::log<memory::retired>& all) {
    const orphaned_limbo_guard guard;
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) descriptor::of(memory::status_record_of(id)).limbo.drain_to(all);
    memory::take_orphaned_objects(all);
}

/// Waits until every transaction that may have seen the gathered objects is over.
void wait_for_transactions(descriptor& self) noexcept {
    base::heavy_fence();  // partner of the plain store of the state in begin
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::status_record_of(id));
        if (&other == &self) continue;
        const word seen = other.state.load(std::memory_order_acquire);
        if (!memory::is_running(seen)) continue;
        for (word now = seen; memory::is_running(now) && memory::sequence_of(now) == memory::sequence_of(seen);
             now = other.state.load(std::memory_order_acquire)) {
            wait_for(self, other, now);
        }
    }
}

/// Waits for the destructors that other contexts were running before the gathering.
void wait_for_destructors(const descriptor& self) noexcept {
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        const descriptor& other = descriptor::of(memory::status_record_of(id));
        if (&other == &self) continue;
        const std::atomic<std::uint32_t>& destroying = other.limbo.destroying();
        const std::uint32_t seen = destroying.load(std::memory_order_acquire);
        while (seen % 2 != 0 && destroying.load(std::memory_order_acquire) == seen) ::sched_yield();
    }
    while (memory::orphan_destroyer_count().load(std::memory_order_acquire) != 0) ::sched_yield();
}

}  // namespace

void collect_retired(descriptor& d) noexcept {
    // The objects stay for a later commit, because destructors run transactions. These might need something that is
    // owned by a transaction around d, or by an attempt whose undo actions are running.
    if (ancestor_runs(d) || runs_undo_action(d)) return;
    const bool orphans = (commit_flags.load(std::memory_order_relaxed) & flag_orphaned_objects) != 0;
    for (descriptor* each = &d; each != nullptr; each = each->inner) {
        if (!each->limbo.is_due() && !(each == &d && orphans)) continue;
        const idle_destructor_scope section{d};
        each->limbo.collect(*each);
    }
    if ((commit_flags.load(std::memory_order_relaxed) & flag_orphaned_objects) == 0 || memory::has_orphaned_objects())
        return;
    commit_flags.fetch_and(~flag_orphaned_objects, std::memory_order_seq_cst);
    request_orphan_collection();  // for objects that were orphaned between the check and the line above
}

void request_orphan_collection() noexcept {
    if (memory::has_orphaned_objects()) commit_flags.fetch_or(flag_orphaned_objects, std::memory_order_seq_cst);
}

void forget_other_collectors() noexcept {
    emptying_lock.reset_in_fork_child();
    memory::reset_orphan_destroyers();
}

void destroy_all_retired(descriptor& self) {
    if (self.running() || self.outer != nullptr || self.running_undo) {
        throw usage_error{
            "tutti: destroy_retired inside a transaction or a handler of one, for which it would wait; call it when "
            "the block has ended"};
    }
    if (self.limbo.is_collecting()) {
        throw usage_error{"tutti: destroy_retired in a destructor of a retired object, for which it would wait"};
    }
    const base::lock_guard alone{emptying_lock};
    memory::log<memory::retired> all;
    bool complete = true;
    try {
        gather(all);
    } catch (const std::bad_alloc&) {
        complete = false;  // the gathered objects are destroyed nevertheless
    }
    wait_for_transactions(self);
    {
        const memory::limbo::collection_scope running{self.limbo};
        const idle_destructor_scope section{self};
        memory::destroy_each(all);
    }
    wait_for_destructors(self);
    if (!complete) throw std::bad_alloc{};
}

}  // namespace tutti::core
