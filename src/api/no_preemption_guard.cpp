#include "tutti/server/no_preemption_guard.hpp"

#include <cxxabi.h>

#include "core/state/critical.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::server {
namespace {

/// Notifies the preemption layer for the caller's context, if that layer schedules the context.
void notify_scheduler(bool begins) noexcept {
    tx* const t = tutti::detail::current_transaction;
    if (t == nullptr) return;
    core::descriptor& d = core::descriptor::of(*t);
    if (d.hooks != nullptr && d.hooks->block_ticks != nullptr) d.hooks->block_ticks(d, begins);
}

}  // namespace

no_preemption_guard::no_preemption_guard() noexcept { notify_scheduler(true); }
no_preemption_guard::~no_preemption_guard() { notify_scheduler(false); }

int detail::begin_static(void* guard) {
    notify_scheduler(true);
    try {
        const int is_mine = abi::__cxa_guard_acquire(static_cast<abi::__guard*>(guard));
        if (is_mine == 0) notify_scheduler(false);
        return is_mine;
    } catch (...) {
        notify_scheduler(false);
        throw;
    }
}

void detail::end_static(void* guard) noexcept {
    abi::__cxa_guard_release(static_cast<abi::__guard*>(guard));
    notify_scheduler(false);
}

void detail::abandon_static(void* guard) noexcept {
    abi::__cxa_guard_abort(static_cast<abi::__guard*>(guard));
    notify_scheduler(false);
}

}  // namespace tutti::server
