#include "core/rollback/deferred.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <exception>

#include "base/panic.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/fault.hpp"

namespace tutti::core {
namespace {

detail::handler* handler_of(const deferred& e) noexcept { return static_cast<detail::handler*>(e.object); }

possession& possession_of(const deferred& e) noexcept { return *static_cast<possession*>(e.object); }

companion* companion_of(const deferred& e) noexcept {
    return static_cast<companion*>(static_cast<participant*>(e.object));
}

/// Takes the place in the log of one that has been given back: blocks know their part of the log by its size.
struct given_back final : possession {
    void keep() noexcept override {}
    void undo(descriptor&) noexcept override {}
};
constinit given_back nothing;

bool is_handler(deferred::kind what) noexcept { return what <= deferred::kind::on_abort; }

/// What a roll-back does to an entry at once, whatever the block.
void undo(descriptor& d, const deferred& e, abort_cause cause) noexcept {
    if (e.what == deferred::kind::constructed) e.destroy(e.object);
    // What was registered in hardware is taken back with it, on a processor before anybody could look.
    if (e.what == deferred::kind::on_abort && cause != abort_cause::hardware) handler_of(e)->run(d, cause);
    if (e.what == deferred::kind::participant) static_cast<participant*>(e.object)->rolled_back();
    if (e.what == deferred::kind::possession) possession_of(e).undo(d);
    if (is_handler(e.what)) delete handler_of(e);
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

void keep_possessions(descriptor& d) noexcept {
    for (deferred& e : d.deferred_log) {
        if (e.what != deferred::kind::possession) continue;
        possession_of(e).keep();
        e.object = static_cast<possession*>(&nothing);
    }
}

void run_before_commit(descriptor& d) {
    // By index: a handler may register others, and the log may move.
    for (std::size_t i = 0; i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (e.what == deferred::kind::before_commit) handler_of(e)->run(d, abort_cause::none);
    }
}

vote ask_participants(descriptor& d, std::size_t& asked) {
    for (const deferred& e : d.deferred_log) {
        if (!votes(e.what)) continue;
        ++asked;
        const vote v = static_cast<participant*>(e.object)->prepare();
        if (v != vote::commit) return v;
    }
    return vote::commit;
}

void tell_participants_of_snapshot(descriptor& d) {
    for (const deferred& e : d.deferred_log) {
        if (!votes(e.what)) continue;
        if (!static_cast<participant*>(e.object)->snapshot_moved()) attempt_abort(d, abort_cause::validation);
    }
}

void have_companions_look(descriptor& d) {
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::companion) companion_of(e)->look_again();
    }
}

bool have_companions_hold_still(descriptor& d) {
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::companion && !companion_of(e)->hold_still()) return false;
    }
    return true;
}

std::size_t place_of_step(const descriptor& d, const companion& of, std::size_t step) noexcept {
    std::size_t at = 0;
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::shown && companion_of(e) == &of && step-- == 0) break;
        ++at;
    }
    TUTTI_ASSERT(at < d.deferred_log.size(), "a companion registers a step before it makes it");
    return at;
}

bool tell_participants_of_retry(descriptor& d) {
    // By index: a participant reads variables, and the log may move.
    for (std::size_t i = 0; i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (votes(e.what) && !static_cast<participant*>(e.object)->heed_retry()) return false;
    }
    return true;
}

void tell_participants_to_abort(descriptor& d, std::size_t asked) noexcept {
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
        if (e.what == deferred::kind::possession) possession_of(e).keep();
        if (votes(e.what)) static_cast<participant*>(e.object)->commit();
    }
}

void settle_committed(descriptor& d, memory::log<deferred>& after) noexcept {
    // Handlers that are over are deleted below; those that are left go to `after`, in order. Its room was made by
    // the swap: no allocation here can fail.
    std::size_t kept = 0;
    for (deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::freed) {
            if (broken(fault::reclaim_without_waiting)) {
                e.destroy(e.object);
            } else {
                d.limbo.retire({e.object, e.destroy});
            }
        }
        if (e.what == deferred::kind::discarded) e.destroy(e.object);
        if (e.what == deferred::kind::on_commit) {
            d.deferred_log[kept++] = e;
        } else if (is_handler(e.what)) {
            delete handler_of(e);
        }
    }
    d.deferred_log.shrink(kept);
    if (kept != 0) d.deferred_log.swap(after);
}

void run_on_commit(descriptor& d, memory::log<deferred>& after) {
    if (broken(fault::reverse_handlers)) std::reverse(after.begin(), after.end());
    std::exception_ptr first;
    const auto destroy_all = [&after] {
        for (const deferred& e : after) delete handler_of(e);
        after.clear();
    };
    for (const deferred& e : after) {
        try {
            handler_of(e)->run(d, abort_cause::none);
        } catch (const abi::__forced_unwind&) {
            // The thread exits, which must not be held up; the handlers behind this one do not run.
            d.threw_after_commit = !d.compensating;
            destroy_all();
            throw;
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    destroy_all();
    if (!first) return;
    d.threw_after_commit = !d.compensating;
    std::rethrow_exception(first);
}

void compensate(descriptor& d, abort_cause cause) noexcept {
    // Taken out of the descriptor: a handler may run transactions of its own on it, and they must find an empty log.
    memory::log<deferred> entries;
    entries.swap(d.deferred_log);
    for (; !entries.empty(); entries.pop()) {
        const deferred& e = entries.back();
        undo(d, e, cause);
        if (e.what == deferred::kind::companion) static_cast<participant*>(e.object)->rolled_back();
        const bool is_ours = e.what == deferred::kind::allocated || e.what == deferred::kind::discarded;
        if (is_ours && !broken(fault::leak_what_was_allocated)) e.destroy(e.object);
    }
    entries.swap(d.deferred_log);
}

void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept {
    for (std::size_t i = d.deferred_log.size(); i-- > mark;) {
        const deferred& e = d.deferred_log[i];
        undo(d, e, cause);
        if (e.what == deferred::kind::shown && partial) companion_of(e)->forget_step();
    }
    std::size_t kept = mark;
    for (std::size_t i = mark; i < d.deferred_log.size(); ++i) {
        deferred e = d.deferred_log[i];
        if (e.what == deferred::kind::allocated) e.what = deferred::kind::discarded;
        const bool was_shown = e.what == deferred::kind::shown && !partial;
        if (e.what != deferred::kind::discarded && e.what != deferred::kind::companion && !was_shown) continue;
        d.deferred_log[kept++] = e;
    }
    d.deferred_log.shrink(kept);
}

}  // namespace tutti::core
