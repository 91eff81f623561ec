#include "preempt/procedures/exclusive_calls.hpp"

#include "tutti/server/no_preemption_guard.hpp"

TUTTI_NO_PREEMPTION_STATICS

namespace procedures {
namespace {

int stay(exclusive_call& v) noexcept {
    v.inside.store(true);
    while (!v.go.load(std::memory_order_relaxed)) asm volatile("");
    return 1;
}

}  // namespace

void initialize(void* of_exclusive_call) noexcept {
    auto& v = *static_cast<exclusive_call*>(of_exclusive_call);
    static const int made = stay(v);
    v.done.store(made == 1);
}

void lock_unpreempted(void* of_exclusive_call) noexcept {
    auto& v = *static_cast<exclusive_call*>(of_exclusive_call);
    {
        const tutti::server::no_preemption_guard here;
        const tutti::server::no_preemption_guard and_inside;
        const std::scoped_lock lock{*v.guarded};
        stay(v);
    }
    v.done.store(true);
}

}  // namespace procedures
