// Signals and modes of a running transaction for C.
#include <chrono>

#include "api/c_api/boundary.hpp"
#include "core/ports/algorithm.hpp"

using tutti::from_c;
using tutti::tx;
using tutti::api::guarded;

void tutti_retry(tutti_tx* handle) {
    guarded(handle, [](tx& t) { tutti::detail::raise_retry(t); });
    __builtin_unreachable();
}

void tutti_retry_for(tutti_tx* handle, uint64_t nanoseconds) {
    // A wait without a limit lasts at most a century, because the sum of a longer wait and the current time could
    // overflow.
    constexpr std::uint64_t max_nanoseconds = 100ULL * 366 * 24 * 3600 * 1'000'000'000;
    const std::chrono::nanoseconds limit{
        static_cast<std::int64_t>(nanoseconds < max_nanoseconds ? nanoseconds : max_nanoseconds)};
    const tutti::detail::retry_site here{.of = __builtin_return_address(0)};
    guarded(handle, [limit, &here](tx& t) { tutti::detail::raise_retry_for(t, limit, here); });
}

void tutti_restart(tutti_tx* handle) {
    guarded(handle, [](tx& t) { tutti::detail::raise_restart(t); });
    __builtin_unreachable();
}

void tutti_cancel(tutti_tx* handle) {
    guarded(handle, [](tx& t) { tutti::detail::raise_cancel(t); });
    __builtin_unreachable();
}

void tutti_become_irrevocable(tutti_tx* handle, const char* reason) {
    guarded(handle, [reason](tx& t) { t.become_irrevocable(reason != nullptr ? reason : "requested"); });
}

void tutti_become_visible(tutti_tx* handle) {
    guarded(handle, [](tx& t) { t.become_visible(); });
}

bool tutti_is_irrevocable(const tutti_tx* handle) { return from_c(const_cast<tutti_tx*>(handle)).irrevocable(); }

unsigned tutti_attempt(const tutti_tx* handle) { return from_c(const_cast<tutti_tx*>(handle)).attempt(); }

tutti_abort_cause tutti_last_abort(const tutti_tx* handle) {
    return static_cast<tutti_abort_cause>(from_c(const_cast<tutti_tx*>(handle)).last_abort());
}

tutti_tx* tutti_current() {
    tx* const t = tutti::detail::current_transaction;
    if (t == nullptr) return nullptr;
    if (tutti::detail::access::running(*t)) return tutti::to_c(*t);
    // The caller is inside a block of the language that runs in hardware, so there is no transaction object to return.
    tutti::core::leave_hardware(tutti::core::descriptor::of(*t), tutti::hardware_abort::software);
    return nullptr;
}
