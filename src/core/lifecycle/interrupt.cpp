#include "core/lifecycle/interrupt.hpp"

#include <cxxabi.h>
#include <unwind.h>

#include <typeinfo>
#include <utility>

#include "base/refusal.hpp"
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

class noted_sleep {
public:
    noted_sleep(descriptor& d, waiter& who) noexcept : d_{d} { note(&who); }
    ~noted_sleep() { note(nullptr); }
    noted_sleep(const noted_sleep&) = delete;
    noted_sleep& operator=(const noted_sleep&) = delete;

private:
    void note(waiter* who) noexcept {
        undisturbed(d_, [&] {
            const base::lock_guard guard{d_.eviction};
            d_.asleep = who;
        });
    }

    descriptor& d_;
};

enum class refusal : std::uint8_t { of_another, caught, in_flight };

/// Returns whether the refused exception is `thrown`, and whether the C++ runtime has already caught it in order to
/// refuse it.
refusal what_is_refused(const thrown_signal& thrown) noexcept {
    if (thrown.object == nullptr) return refusal::of_another;
    const auto& now = *reinterpret_cast<const exception_globals*>(abi::__cxa_get_globals());
    const std::type_info* const type = abi::__cxa_current_exception_type();
    const bool is_ours =
        type != nullptr && (*type == typeid(traced<interrupted>) || *type == typeid(traced<out_of_stack>) ||
                            *type == typeid(traced<detail::unwind>));
    if (is_ours && now.uncaught == thrown.before.uncaught) return refusal::caught;
    if (now.caught == thrown.before.caught && now.uncaught == thrown.before.uncaught + 1) return refusal::in_flight;
    return refusal::of_another;
}

/// Ends the life of the exception, and of all other exceptions that the dropped frames were handling.
void end_refused(const thrown_signal& thrown, refusal how) noexcept {
    const exception_globals before = thrown.before;
    // The object follows the unwinder's header (Itanium C++ ABI, 2.2.1).
    if (how == refusal::in_flight)
        __cxa_begin_catch(static_cast<_Unwind_Exception*>(const_cast<void*>(thrown.object)) - 1);
    __cxa_end_catch();
    *reinterpret_cast<exception_globals*>(abi::__cxa_get_globals()) = before;
}

descriptor& innermost() noexcept { return descriptor::of(*detail::current_transaction); }

}  // namespace

void throw_again() {
    descriptor& d = innermost();
    const std::uint32_t why = outermost_of(d).thrown.why;
    if (d.running() && d.pending != signal::none) raise_again(d);  // a block around that place has a signal in progress
    if (why != 0) throw_interruption(d, why);
    throw usage_error{
        "tutti: a restart of an atomic block cannot leave a function that is noexcept, and the block was in the same "
        "function; take the noexcept away, or access transactional data outside it"};
}

void go_on_where_refused(void (*tell)() noexcept) noexcept {
    if (detail::current_transaction == nullptr) return;
    descriptor& d = innermost();
    if (d.hooks == nullptr || !d.hooks->isolates || !can_end_all(d)) return;
    descriptor& outermost = outermost_of(d);
    const refusal how = what_is_refused(outermost.thrown);
    if (how == refusal::of_another) return;
    const base::call_place place = base::caller_of_refusal();
    if (place.stack_pointer == 0) return;
    tell();
    end_refused(outermost.thrown, how);
    leave_blocks_below(d, place.stack_pointer);
    outermost.passed_refusal = true;
    base::call_from(place, &throw_again);
}

bool take_passed_refusal() noexcept {
    return detail::current_transaction != nullptr && std::exchange(outermost_of(innermost()).passed_refusal, false);
}

void interrupt(descriptor& d) noexcept {
    d.interrupted.store(by_request, std::memory_order_release);  // partner: the acquiring load in attempt_start
    kill(d, d.state.load(std::memory_order_acquire));
    const base::lock_guard guard{d.eviction};
    if (d.asleep != nullptr) d.asleep->wake();
}

// `asleep` becomes null again under the same lock, so the word is stored before the sleeper goes on. So attempt_start
// finds the word, and work that the context begins after forget_interruption is not interrupted.
void interrupt_sleeper(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    if (d.asleep == nullptr) return;
    d.interrupted.store(by_request, std::memory_order_release);
    d.asleep->wake();
}

void interrupt_for_stack(descriptor& d) noexcept {
    for (descriptor* each = &d; each != nullptr; each = each->outer) {
        each->interrupted.store(short_of_stack, std::memory_order_relaxed);
        if (!each->running() || each->prevails()) continue;
        // Does what `kill` does, without its fence: the caller is the thread that commits.
        each->kill_request.store(each->own_sequence, std::memory_order_relaxed);
        each->close_bounds();
    }
}

void forget_interruption(descriptor& outermost) noexcept {
    for (descriptor* d = &outermost; d != nullptr; d = d->inner) d->interrupted.store(0, std::memory_order_relaxed);
}

void throw_interruption(descriptor& d, std::uint32_t why) {
    if (why == short_of_stack) throw traced<out_of_stack>{d, why};
    throw traced<interrupted>{d, why};
}

bool can_end_all(const descriptor& innermost) noexcept {
    for (const descriptor* d = &innermost; d != nullptr; d = d->outer) {
        for (const detail::frame* f = d->frame_; f != nullptr; f = f->parent) {
            if (f->receive != nullptr) return false;
        }
    }
    return true;
}

void end_all(descriptor& innermost) noexcept {
    for (descriptor* d = &innermost; d != nullptr; d = d->outer) {
        if (d->running()) execution_give_up(*d, d->pending != signal::none ? d->cause : abort_cause::exception);
        if (d->outer != nullptr) leave_open_nested(*d->outer);
    }
}

void execution_interrupt(descriptor& d) {
    const std::uint32_t why = d.interrupted.load(std::memory_order_acquire);
    execution_give_up(d, abort_cause::killed);
    throw_interruption(d, why);
}

void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until) {
    const noted_sleep noted{d, me};
    if (d.interrupted.load(std::memory_order_acquire) == 0) me.sleep(until, waiter::cancellable::yes);
}

}  // namespace tutti::core
