#include "core/rollback/deferred.hpp"

#include <algorithm>
#include <utility>

#include "base/panic.hpp"
#include "core/rollback/replaced.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/user_code.hpp"
#include "core/state/fault.hpp"

namespace tutti::core {
namespace {

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

/// What a roll-back does with an entry before anything that the block leaves is destroyed, whatever the block.
void undo(descriptor& d, const deferred& e, abort_cause cause) noexcept {
    if (e.what == deferred::kind::exception) e.destroy(e.object);
    // What was registered in hardware is taken back with it, on a processor before anybody could look.
    if (e.what == deferred::kind::on_abort && cause != abort_cause::hardware) handler_of(e)->run(d, cause);
    if (e.what == deferred::kind::participant) static_cast<participant*>(e.object)->rolled_back();
    if (e.what == deferred::kind::possession) possession_of(e).undo(d);
}

/// What a roll-back leaves to destroy later: code of the user's, and memory that it may look at.
deferred::kind left_by_roll_back(deferred::kind what) noexcept {
    switch (what) {
        case deferred::kind::constructed: return deferred::kind::doomed;
        case deferred::kind::allocated: return deferred::kind::discarded;
        case deferred::kind::discarded:
        case deferred::kind::doomed: return what;
        default: return is_handler(what) ? deferred::kind::over : deferred::kind::spent;
    }
}

/// Drops the entries for which `what_stays(e)` is spent, and makes the others that.
template <class F>
void keep_what_stays(memory::log<deferred>& entries, F&& what_stays) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        deferred e = entries[i];
        e.what = what_stays(e);
        if (e.what != deferred::kind::spent) entries[kept++] = e;
    }
    entries.shrink(kept);
}

/// Where the part of the log begins that the innermost alternative takes back, or 0.
std::size_t mark_of_alternative(const descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f->parent != nullptr; f = f->parent) {
        if (f->alternative) return f->mark.deferred;
    }
    return 0;
}

/// Moves the entries that `stays(e)` is true of to the front, in their order, and so the others behind. Returns where
/// the others begin. O(n log n) without memory.
template <class F>
deferred* gather(deferred* first, deferred* last, const F& stays) noexcept {
    if (last - first <= 1) return first != last && stays(*first) ? last : first;
    deferred* const middle = first + (last - first) / 2;
    deferred* const others = gather(first, middle, stays);
    return std::rotate(others, middle, gather(middle, last, stays));
}

/// Drops the entries from `mark` on, but for those that `stays(e)` is true of, and sets aside what is to be destroyed.
template <class F>
void set_aside_what_is_left(memory::log<deferred>& entries, std::size_t mark, const F& stays) noexcept {
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

void keep_possessions(descriptor& d) noexcept {
    for (deferred& e : d.deferred_log) {
        if (e.what != deferred::kind::possession) continue;
        possession_of(e).keep();
        e.object = static_cast<possession*>(&nothing);
    }
}

void settle_possessions(descriptor& d) noexcept {
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::possession) possession_of(e).settle();
    }
}

void run_before_commit(descriptor& d) {
    // By index: a handler may register others, and the log may move.
    const no_look_for_replaced meanwhile{*d.frame_};
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

void tell_participants_of_snapshot(descriptor& d) {
    for (const deferred& e : d.deferred_log) {
        if (!votes(e.what)) continue;
        if (!static_cast<participant*>(e.object)->snapshot_moved()) attempt_abort(d, abort_cause::validation);
    }
}

void have_companions_look(descriptor& d) {
    if (!has_companions(d)) return;
    for (const deferred& e : d.deferred_log) {
        if (e.what == deferred::kind::companion) companion_of(e)->look_again();
    }
}

bool have_companions_hold_still(descriptor& d) {
    if (!has_companions(d)) return true;
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
    if (!has_participants(d)) return true;
    // By index: a participant reads variables, and the log may move.
    for (std::size_t i = mark_of_alternative(d); i < d.deferred_log.size(); ++i) {
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
    // `after` gets what runs code of the user's, in order. Its room was made by the swap: no allocation here can fail.
    keep_what_stays(d.deferred_log, [&d](const deferred& e) {
        if (e.what == deferred::kind::freed || e.what == deferred::kind::replaced) {
            if (broken(fault::reclaim_without_waiting)) e.destroy(e.object);
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
    // Taken out of the descriptor: a handler may run transactions of its own on it, and they must find an empty log.
    left.swap(d.deferred_log);
    for (std::size_t i = left.size(); i-- > 0;) {
        const deferred& e = left[i];
        undo(d, e, cause);
        if (e.what == deferred::kind::companion) static_cast<participant*>(e.object)->rolled_back();
    }
    keep_what_stays(left, [](const deferred& e) { return left_by_roll_back(e.what); });
}

void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept {
    for (std::size_t i = d.deferred_log.size(); i-- > mark;) {
        // A copy: an undo action hands over what its own transaction leaves to destroy, and the log may move.
        const deferred e = d.deferred_log[i];
        undo(d, e, cause);
        if (e.what == deferred::kind::shown && partial) companion_of(e)->forget_step();
    }
    set_aside_what_is_left(d.deferred_log, mark, [partial](const deferred& e) {
        return e.what == deferred::kind::companion || (e.what == deferred::kind::shown && !partial);
    });
}

}  // namespace tutti::core
