#include "core/lifecycle/interrupt.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <typeinfo>
#include <utility>

#include "base/noexcept_boundary.hpp"
#include "core/conflict/kill.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/rollback/signal.hpp"
#include "core/rollback/traced.hpp"
#include "core/state/critical.hpp"
#include "tutti/errors.hpp"
#include "tutti/interrupt.hpp"

extern "C" void* __cxa_begin_catch(void* of_unwinder) noexcept;
extern "C" void __cxa_end_catch();

namespace tutti::core {
namespace {

class interruptible_sleep {
public:
    interruptible_sleep(descriptor& d, waiter& who) noexcept : d_{d} { note(&who); }
    ~interruptible_sleep() { note(nullptr); }
    interruptible_sleep(const interruptible_sleep&) = delete;
    interruptible_sleep& operator=(const interruptible_sleep&) = delete;

private:
    void note(waiter* who) noexcept {
        in_critical_region(d_, [&] {
            const base::lock_guard guard{d_.eviction};
            d_.sleeping_waiter = who;
        });
    }

    descriptor& d_;
};

enum class refused_exception : std::uint8_t { of_another, caught, in_flight };

/// Returns whether the refused exception is `thrown`, and whether the C++ runtime has already caught it in order to
/// refuse it.
refused_exception find_refused_exception(const thrown_signal& thrown) noexcept {
    if (thrown.object == nullptr) return refused_exception::of_another;
    const auto& now = *reinterpret_cast<const exception_globals*>(abi::__cxa_get_globals());
    const std::type_info* const type = abi::__cxa_current_exception_type();
    const bool is_ours =
        type != nullptr && (*type == typeid(traced<interrupted>) || *type == typeid(traced<stack_overflow_error>) ||
                            *type == typeid(traced<detail::unwind>));
    if (is_ours && now.uncaught == thrown.before.uncaught) return refused_exception::caught;
    if (now.caught == thrown.before.caught && now.uncaught == thrown.before.uncaught + 1)
        return refused_exception::in_flight;
    return refused_exception::of_another;
}

/// Destroys the refused exception, and all other exceptions that the dropped frames were handling.
void end_refused(const thrown_signal& thrown, refused_exception how) noexcept {
    const exception_globals before = thrown.before;
    // The exception object follows the unwinder's header in memory (Itanium C++ ABI, 2.2.1).
    if (how == refused_exception::in_flight)
        __cxa_begin_catch(static_cast<_Unwind_Exception*>(const_cast<void*>(thrown.object)) - 1);
    __cxa_end_catch();
    *reinterpret_cast<exception_globals*>(abi::__cxa_get_globals()) = before;
}

descriptor& innermost() noexcept { return descriptor::of(*detail::current_transaction); }

}  // namespace

void throw_pending() {
    descriptor& d = innermost();
    const std::uint32_t why = outermost_of(d).thrown.why;
    if (d.running() && d.pending != signal::none) raise_again(d);  // a block around that place has a signal in progress
    if (why != 0) throw_interruption(d, why);
    throw usage_error{
        "tutti: a restart of an atomic block cannot leave a function that is noexcept, and the block was in the same "
        "function; remove the noexcept, or access transactional data outside it"};
}

void continue_past_noexcept(void (*notify)() noexcept) noexcept {
    if (detail::current_transaction == nullptr) return;
    descriptor& d = innermost();
    if (d.hooks == nullptr || !d.hooks->isolates || !can_roll_back_all_blocks(d)) return;
    descriptor& outermost = outermost_of(d);
    const refused_exception how = find_refused_exception(outermost.thrown);
    if (how == refused_exception::of_another) return;
    const base::return_point place = base::caller_of_noexcept_boundary();
    if (place.stack_pointer == 0) return;
    notify();
    end_refused(outermost.thrown, how);
    roll_back_blocks_below(d, place.stack_pointer);
    outermost.passed_noexcept = true;
    base::call_from(place, &throw_pending);
}

bool consume_passed_noexcept() noexcept {
    return detail::current_transaction != nullptr && std::exchange(outermost_of(innermost()).passed_noexcept, false);
}

void interrupt(descriptor& d) noexcept {
    d.interrupted.store(interrupted_by_request,
                        std::memory_order_release);  // partner: the acquiring load in attempt_start
    kill(d, d.state.load(std::memory_order_acquire));
    const base::lock_guard guard{d.eviction};
    if (d.sleeping_waiter != nullptr) d.sleeping_waiter->wake();
}

// The sleeper clears `sleeping_waiter` under the same lock. So `interrupted` is stored before the sleeper continues,
// and attempt_start finds it. Work that the context begins after forget_interruption is not interrupted.
void interrupt_sleeper(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    if (d.sleeping_waiter == nullptr) return;
    d.interrupted.store(interrupted_by_request, std::memory_order_release);
    d.sleeping_waiter->wake();
}

void interrupt_for_stack(descriptor& d) noexcept {
    for (descriptor* each = &d; each != nullptr; each = each->outer) {
        each->interrupted.store(interrupted_for_stack, std::memory_order_relaxed);
        if (!each->running() || each->cannot_be_killed()) continue;
        // Does what `kill` does, but without the fence, because the caller is the thread that would commit.
        each->kill_request.store(each->own_sequence, std::memory_order_relaxed);
        each->close_bounds();
    }
}

void forget_interruption(descriptor& outermost) noexcept {
    for (descriptor* d = &outermost; d != nullptr; d = d->inner) d->interrupted.store(0, std::memory_order_relaxed);
}

void throw_interruption(descriptor& d, std::uint32_t why) {
    if (why == interrupted_for_stack) throw traced<stack_overflow_error>{d, why};
    throw traced<interrupted>{d, why};
}

bool can_roll_back_all_blocks(const descriptor& innermost) noexcept {
    for (const descriptor* d = &innermost; d != nullptr; d = d->outer) {
        for (const detail::frame* f = d->frame_; f != nullptr; f = f->parent) {
            if (f->receive != nullptr) return false;
        }
    }
    return true;
}

void roll_back_all_blocks(descriptor& innermost) noexcept {
    for (descriptor* d = &innermost; d != nullptr; d = d->outer) {
        if (d->running()) execution_abandon(*d, d->pending != signal::none ? d->cause : abort_cause::exception);
        d->unfinished_handlers.store(0, std::memory_order_release);  // their frames are gone
        if (d->outer != nullptr) leave_open_nested(*d->outer);
    }
}

void execution_interrupt(descriptor& d) {
    const std::uint32_t why = d.interrupted.load(std::memory_order_acquire);
    execution_abandon(d, abort_cause::killed);
    throw_interruption(d, why);
}

void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until) {
    const interruptible_sleep noted{d, me};
    if (d.interrupted.load(std::memory_order_acquire) == 0) me.sleep(until, waiter::cancellable::yes);
}

}  // namespace tutti::core
