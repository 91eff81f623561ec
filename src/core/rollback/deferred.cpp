#include "core/rollback/deferred.hpp"

#include <algorithm>
#include <utility>

#include "base/panic.hpp"
#include "core/rollback/replaced.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {
namespace {

owned_resource& resource_of(const deferred& e) noexcept { return *static_cast<owned_resource*>(e.object); }

data_participant* data_participant_of(const deferred& e) noexcept {
    return static_cast<data_participant*>(static_cast<participant*>(e.object));
}

/// Replaces an owned resource in the log after the resource was released. The entry stays, because blocks find their
/// part of the log by the log's size.
struct released_resource final : owned_resource {
    void release() noexcept override {}
    void undo(descriptor&) noexcept override {}
};
constinit released_resource no_resource;

/// Undoes an entry of a block at any depth. Called before the roll-back destroys anything that the block leaves behind.
void undo(descriptor& d, const deferred& e, abort_cause cause) noexcept {
    if (e.what == deferred::kind::exception) e.destroy(e.object);
    // A handler that was registered in hardware does not run. The end of the hardware attempt has undone its
    // registration.
    if (e.what == deferred::kind::on_abort && cause != abort_cause::hardware) handler_of(e)->run(d, cause);
    if (e.what == deferred::kind::participant) static_cast<participant*>(e.object)->on_rollback();
    if (e.what == deferred::kind::owned_resource) resource_of(e).undo(d);
}

/// Returns the kind that an entry gets in a roll-back. The entry must be destroyed later if its destruction runs user
/// code, or frees memory that user code may read. Otherwise the entry becomes spent.
deferred::kind left_by_roll_back(deferred::kind what) noexcept {
    switch (what) {
        case deferred::kind::constructed: return deferred::kind::doomed;
        case deferred::kind::allocated: return deferred::kind::discarded;
        case deferred::kind::discarded:
        case deferred::kind::doomed: return what;
        default: return is_handler(what) ? deferred::kind::over : deferred::kind::spent;
    }
}

/// Changes the kind of each entry to `what_stays(e)`, and drops the entries that become spent.
template <class F>
void filter_entries(memory::log<deferred>& entries, F&& what_stays) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        deferred e = entries[i];
        e.what = what_stays(e);
        if (e.what != deferred::kind::spent) entries[kept++] = e;
    }
    entries.shrink(kept);
}

/// Returns where the innermost alternative's part of the log begins, or 0 without an alternative.
std::size_t mark_of_alternative(const descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f->parent != nullptr; f = f->parent) {
        if (f->alternative) return f->mark.deferred;
    }
    return 0;
}

/// Moves the entries for which `stays(e)` is true to the front, in their order, and returns where the other entries
/// begin. O(n log n); allocates no memory.
template <class F>
deferred* gather(deferred* first, deferred* last, const F& stays) noexcept {
    if (last - first <= 1) return first != last && stays(*first) ? last : first;
    deferred* const middle = first + (last - first) / 2;
    deferred* const others = gather(first, middle, stays);
    return std::rotate(others, middle, gather(middle, last, stays));
}

/// Drops the entries from `mark` on, except those for which `stays(e)` is true. Sets aside the dropped entries that are
/// to be destroyed.
template <class F>
void set_aside_leftovers(memory::log<deferred>& entries, std::size_t mark, const F& stays) noexcept {
    deferred* kept = entries.begin() + mark;
    if (std::any_of(kept, entries.end(), stays)) kept = gather(kept, entries.end(), stays);
    while (entries.end() != kept) {
        deferred e = entries.back();
        entries.pop();
        e.what = left_by_roll_back(e.what);
        if (e.what != deferred::kind::spent) entries.set_aside(e);
    }
}

}  // namespace

bool has(const descriptor& d, deferred::kind what) noexcept {
    for (const deferred& e : d.deferred_log) {
        if (e.what == what) return true;
    }
    return false;
}

std::size_t count_participants(const descriptor& d) noexcept {
    std::size_t count = 0;
    for (const deferred& e : d.deferred_log) count += votes(e.what) ? 1u : 0u;
    return count;
}

void release_owned_resources(descriptor& d) noexcept {
    for (deferred& e : d.deferred_log) {
        if (e.what != deferred::kind::owned_resource) continue;
        resource_of(e).release();
        e.object = static_cast<owned_resource*>(&no_resource);
    }
}

void make_resources_effective(descriptor& d) noexcept {
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::owned_resource) resource_of(e).make_effective();
    }
}

void run_before_commit(descriptor& d) {
    // The loop uses an index, because a handler may register other handlers, and the log may then move in memory.
    const replaced_search_pause meanwhile{*d.frame_};
    for (std::size_t i = 0; i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (e.what == deferred::kind::before_commit) handler_of(e)->run(d, abort_cause::none);
    }
}

vote ask_participants(descriptor& d, std::size_t& asked) {
    for (std::size_t i = 0; i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (!votes(e.what)) continue;
        ++asked;
        const vote v = static_cast<participant*>(e.object)->prepare();
        if (v != vote::commit) return v;
    }
    return vote::commit;
}

void notify_participants_of_snapshot(descriptor& d) {
    for (const deferred& e : d.deferred_log) {
        if (!votes(e.what)) continue;
        if (!static_cast<participant*>(e.object)->on_snapshot_extended()) attempt_abort(d, abort_cause::validation);
    }
}

void recheck_data_participants(descriptor& d) {
    if (!has_data_participants(d)) return;
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::data_participant) data_participant_of(e)->recheck();
    }
}

bool freeze_data_participants(descriptor& d) {
    if (!has_data_participants(d)) return true;
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::data_participant && !data_participant_of(e)->freeze()) return false;
    }
    return true;
}

std::size_t index_of_step(const descriptor& d, const data_participant& of, std::size_t step) noexcept {
    std::size_t at = 0;
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::shown && data_participant_of(e) == &of && step-- == 0) break;
        ++at;
    }
    TUTTI_ASSERT(at < d.deferred_log.size(), "a data participant registers a step before it makes it");
    return at;
}

bool notify_participants_of_retry(descriptor& d) {
    if (!has_participants(d)) return true;
    // The loop uses an index, because a participant may read variables, and the log may then move in memory.
    for (std::size_t i = mark_of_alternative(d); i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (votes(e.what) && !static_cast<participant*>(e.object)->on_retry()) return false;
    }
    return true;
}

void notify_participants_of_abort(descriptor& d, std::size_t asked) noexcept {
    for (const deferred& e : d.deferred_log) {
        if (asked == 0) return;
        if (!votes(e.what)) continue;
        static_cast<participant*>(e.object)->abort();
        --asked;
    }
}

void run_at_commit(descriptor& d) noexcept {
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::at_commit) handler_of(e)->run(d, abort_cause::none);
        if (e.what == deferred::kind::owned_resource) resource_of(e).release();
        if (votes(e.what)) static_cast<participant*>(e.object)->commit();
    }
}

void finish_deferred(descriptor& d, memory::log<deferred>& after) noexcept {
    // `after` receives, in order, the entries that run user code. The swap gives `after` its memory, so no allocation
    // can fail here.
    filter_entries(d.deferred_log, [&d](const deferred& e) {
        if (e.what == deferred::kind::freed || e.what == deferred::kind::replaced) {
            if (injected(fault::reclaim_without_waiting)) e.destroy(e.object);
            else d.limbo.retire({e.object, e.destroy});
        }
        if (e.what == deferred::kind::on_commit || e.what == deferred::kind::discarded ||
            e.what == deferred::kind::doomed) {
            return e.what;
        }
        return is_handler(e.what) ? deferred::kind::over : deferred::kind::spent;
    });
    if (has_entries(d.deferred_log)) d.deferred_log.swap(after);
}

void compensate(descriptor& d, memory::log<deferred>& left, abort_cause cause) noexcept {
    // The log is moved out of the descriptor, because a handler may run transactions on the descriptor, and these must
    // find an empty log.
    left.swap(d.deferred_log);
    for (std::size_t i = left.size(); i-- > 0;) {
        const deferred& e = left[i];
        undo(d, e, cause);
        if (e.what == deferred::kind::data_participant) static_cast<participant*>(e.object)->on_rollback();
    }
    filter_entries(left, [](const deferred& e) { return left_by_roll_back(e.what); });
}

void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept {
    for (std::size_t i = d.deferred_log.size(); i-- > mark;) {
        // The entry is copied, because the log may move: the transaction of an undo action adds entries for objects
        // that are to be destroyed later.
        const deferred e = d.deferred_log[i];
        undo(d, e, cause);
        if (e.what == deferred::kind::shown && partial) data_participant_of(e)->drop_step();
    }
    set_aside_leftovers(d.deferred_log, mark, [partial](const deferred& e) {
        return e.what == deferred::kind::data_participant || (e.what == deferred::kind::shown && !partial);
    });
}

}  // namespace tutti::core
