#include "core/rollback/replaced.hpp"

#include <algorithm>
#include <functional>

#include "core/rollback/deferred.hpp"
#include "core/state/critical.hpp"

namespace tutti::core {
namespace {

bool precedes(const deferred& a, const deferred& b) noexcept { return std::less<>{}(a.object, b.object); }

bool is_making(const deferred& e) noexcept {
    return e.what == deferred::kind::allocated || e.what == deferred::kind::constructed;
}

/// Moves `replaced` entries from the log to `found`, if their object was allocated in the same part of the log. Drops
/// the entries of their allocation and construction.
void take_out(descriptor& d, std::size_t mark, memory::log<deferred>& found) noexcept {
    for (std::size_t i = mark; i < d.deferred_log.size(); ++i) {
        if (d.deferred_log[i].what == deferred::kind::replaced) found.push_reserved(d.deferred_log[i]);
    }
    if (found.empty()) return;
    std::sort(found.begin(), found.end(), precedes);
    // From here on, an entry of `found` gets the kind `allocated` if its object was allocated in this part of the log.
    const auto candidate = [&found](const deferred& e) -> deferred* {
        deferred* const at = std::lower_bound(found.begin(), found.end(), e, precedes);
        return at != found.end() && at->object == e.object ? at : nullptr;
    };
    for (std::size_t i = mark; i < d.deferred_log.size(); ++i) {
        const deferred& e = d.deferred_log[i];
        if (e.what != deferred::kind::allocated) continue;
        if (deferred* const c = candidate(e)) c->what = deferred::kind::allocated;
    }
    std::size_t kept = mark;
    for (std::size_t i = mark; i < d.deferred_log.size(); ++i) {
        const deferred e = d.deferred_log[i];
        if (is_making(e) || e.what == deferred::kind::replaced) {
            const deferred* const c = candidate(e);
            if (c != nullptr && c->what == deferred::kind::allocated) continue;
        }
        d.deferred_log[kept++] = e;
    }
    d.deferred_log.shrink(kept);
    std::size_t ours = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].what == deferred::kind::allocated) found[ours++] = found[i];
    }
    found.shrink(ours);
}

}  // namespace

void destroy_replaced(descriptor& d) noexcept {
    const std::size_t mark = innermost_log_begin(d);
    memory::log<deferred> found;
    in_critical_region(d, [&] {
        try {
            found.reserve(d.deferred_log.size() - mark);
        } catch (const std::bad_alloc&) {
            return;  // the objects stay until the end of the transaction
        }
        take_out(d, mark, found);
    });
    d.frame_->left_when_looked = d.deferred_log.size() - mark;
    if (found.empty()) return;
    // The log must be consistent here, because a destructor may add entries.
    for (const deferred& e : found) in_critical_region(d, [&e] { e.destroy(e.object); });
}

void abandon(descriptor& d, void* object) noexcept {
    const std::size_t mark = innermost_log_begin(d);
    for (std::size_t i = d.deferred_log.size(); i-- > mark;) {
        deferred& e = d.deferred_log[i];
        if (e.object != object) continue;
        if (e.what == deferred::kind::allocated) {
            e.what = deferred::kind::discarded;
            return;
        }
        if (e.what != deferred::kind::constructed) continue;
        const detail::destroyer destroy = e.destroy;
        // The entries behind this one may move, because no walk has reached them. They were added after the object was
        // made.
        std::copy(&e + 1, d.deferred_log.end(), &e);
        d.deferred_log.shrink(d.deferred_log.size() - 1);
        destroy(object);  // runs user code; the log is consistent
        i = std::min(i, d.deferred_log.size());
    }
}

}  // namespace tutti::core
