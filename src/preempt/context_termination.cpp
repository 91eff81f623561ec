// The workers' part of stack_overflow.hpp. Recognizes a stack overflow, and terminates the context. Also terminates a
// doomed context, if the context does not end otherwise.
#include <cxxabi.h>
#include <ucontext.h>
#include <unwind.h>

#include <cerrno>
#include <utility>

#include "base/emergency_output.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/stack_overflow.hpp"
#include "preempt/worker.hpp"

namespace tutti::preempt {
namespace {

constexpr std::size_t red_zone = 128;
/// An upper bound of the size of a signal's frame, including all of the processor's registers.
constexpr std::size_t signal_frame = 16 * 1024;
constexpr greg_t trap_flag = 0x100, direction_flag = 0x400;
/// The maximum distance between the first frame of a stack and the top of the stack.
constexpr std::size_t first_frame = 1024;

std::uintptr_t instruction_of(const ucontext_t& c) noexcept {
    return static_cast<std::uintptr_t>(c.uc_mcontext.gregs[REG_RIP]);
}
const char* stack_pointer_of(const ucontext_t& c) noexcept {
    return reinterpret_cast<const char*>(c.uc_mcontext.gregs[REG_RSP]);
}

/// A walk of the stack, from the handler of a signal through the interrupted code to the end of the stack.
struct walk {
    const code_map& application;
    const std::uintptr_t from;
    enum { handler, application_code, callers, mixed } at = handler;
    std::uintptr_t last_frame = 0;

    static _Unwind_Reason_Code step(struct _Unwind_Context* frame, void* of) noexcept {
        auto& w = *static_cast<walk*>(of);
        int exactly = 0;
        const std::uintptr_t ip = _Unwind_GetIPInfo(frame, &exactly);
        if (w.at == handler) {
            if (ip != w.from) return _URC_NO_REASON;
            w.at = application_code;
        }
        w.last_frame = _Unwind_GetCFA(frame);
        // The return address may already belong to the next function, because it follows the call.
        const bool application = w.application.contains(exactly != 0 ? ip : ip - 1);
        if (!application && w.at == application_code) w.at = callers;
        if (!application || w.at == application_code) return _URC_NO_REASON;
        w.at = mixed;
        return _URC_NORMAL_STOP;
    }
};

/// Returns true if all frames belong to the application, except for the frames that called the application.
bool is_application_code_only(const code_map& application, const stack& room, const ucontext_t& where) noexcept {
    const std::uintptr_t ip = instruction_of(where);
    if (!application.contains(ip)) return false;
    walk w{application, ip};
    _Unwind_Backtrace(&walk::step, &w);
    const auto top = reinterpret_cast<std::uintptr_t>(room.top());
    return w.at == walk::callers && w.last_frame <= top && top - w.last_frame < first_frame;
}

core::descriptor* innermost_transaction() noexcept {
    if (detail::current_transaction == nullptr) return nullptr;
    return &core::descriptor::of(*detail::current_transaction);
}

bool runs_transaction(const core::descriptor* innermost) noexcept {
    for (const core::descriptor* d = innermost; d != nullptr; d = d->outer) {
        if (d->running()) return true;
    }
    return false;
}

bool is_bound_to_commit(const core::descriptor* innermost) noexcept {
    for (const core::descriptor* d = innermost; d != nullptr; d = d->outer) {
        if (d->running() && d->must_commit()) return true;
    }
    return false;
}

}  // namespace

bool worker::may_terminate(const context& c, const ucontext_t& where) const noexcept {
    const core::descriptor* const d = innermost_transaction();
    if (c.current_work.on_termination == nullptr || d == nullptr || !core::can_roll_back_all_blocks(*d)) return false;
    return is_application_code_only(scheduler_.application(), c.stack_memory, where);
}

/// Makes the interrupted code continue in `finish_termination`, on the termination area.
bool worker::terminate(context& c, ucontext_t& where) noexcept {
    char* const top = c.stack_memory.open_termination_area();
    if (top == nullptr) return false;
    auto& registers = where.uc_mcontext.gregs;
    registers[REG_RIP] = reinterpret_cast<greg_t>(&worker::finish_termination);
    registers[REG_RSP] = reinterpret_cast<greg_t>(top - sizeof(void*));  // as after a call without a caller
    registers[REG_RBP] = 0;
    registers[REG_RDI] = reinterpret_cast<greg_t>(&c);
    registers[REG_EFL] &= ~(direction_flag | trap_flag);
    if (auto* const units = where.uc_mcontext.fpregs; units != nullptr) {
        units->mxcsr = 0x1f80;
        units->cwd = 0x037f;
        units->swd = units->ftw = 0;
    }
    return true;
}

void worker::finish_termination(context* of) noexcept {
    context& c = *of;
    *reinterpret_cast<core::exception_globals*>(abi::__cxa_get_globals()) = {};
    core::roll_back_all_blocks(core::descriptor::of(*detail::current_transaction));
    c.current_work.on_termination(c.current_work.argument);
    current()->leave_finished(c);
}

bool worker::handles_overflow(const siginfo_t& fault, ucontext_t& where) noexcept {
    if (running_ == nullptr) return false;
    context& c = *running_;
    const char* const sp = stack_pointer_of(where);
    const bool of_signal = fault.si_code == SI_KERNEL;  // the kernel had a signal to deliver, and reports no address
    const char* const address = of_signal ? sp - signal_frame : static_cast<const char*>(fault.si_addr);
    // If the address is above the stack pointer, or just below it, the access was an access to the stack.
    if (!c.stack_memory.is_below(address) || (!of_signal && address < sp - red_zone)) return false;

    const bool fits = sp - signal_frame > c.stack_memory.next_lower_end();
    // Opens one reserve for a signal, but not a second one. If a second signal has no room below that reserve, the
    // stack has overflowed.
    if (of_signal && c.stack_memory.open_reserves() == 0 && fits && c.stack_memory.open_reserve()) {
        tick_after(target_, target_.timing.retry_pause);  // replaces the lost tick
        return true;
    }
    core::descriptor* const d = innermost_transaction();
    const bool again = std::exchange(c.stack_overflowed, true);
    if (fits && !again && runs_transaction(d) && c.stack_memory.open_reserve()) {
        core::interrupt_for_stack(*d);
        return true;
    }
    if (may_terminate(c, where) && terminate(c, where)) return true;
    if (fits && c.current_work.on_termination != nullptr && c.stack_memory.open_reserve()) {
        static_cast<void>(start_catching_traps());  // if this fails, the trap ends the process, as the overflow would
        c.single_steps.begin_unbounded();
        where.uc_mcontext.gregs[REG_EFL] |= trap_flag;
        return true;
    }
    base::write_emergency_message(
        "tutti: a procedure has overflowed its stack and the reserve below it, and cannot be terminated alone: code "
        "other than its own, or a block of the language, is active on the stack, or the work has no function to call "
        "instead\n");
    return false;
}

bool worker::may_terminate_doomed(const context& c, const ucontext_t& where) const noexcept {
    const core::descriptor* const d = innermost_transaction();
    // A context that must not be preempted is not terminated, because the resources that it holds would never be
    // released.
    const bool busy = c.no_preemption_depth.load(std::memory_order_relaxed) != 0 || d == nullptr ||
                      d->critical_depth.load(std::memory_order_relaxed) != 0 || is_bound_to_commit(d);
    return !busy && c.descriptor->exceptions->uncaught == 0 && may_terminate(c, where);
}

bool worker::terminates_doomed(ucontext_t& where) noexcept {
    if (running_ == nullptr || !running_->doomed.load(std::memory_order_relaxed)) return false;
    context& c = *running_;
    if (may_terminate_doomed(c, where) && terminate(c, where)) return true;
    // The context may be in library code almost all the time. Then ticks would never find the context in its own code,
    // so single steps search for a place where the context may be terminated.
    const bool may_step = c.no_preemption_depth.load(std::memory_order_relaxed) == 0 && can_step(where);
    if (may_step && c.single_steps.may_begin(base::real_now()) && start_catching_traps()) c.single_steps.begin();
    back_off(target_);
    return false;
}

bool worker::is_stepping() const noexcept {
    return running_ != nullptr && running_->single_steps.is_active() && !off_context_.load(std::memory_order_relaxed);
}

void worker::keep_stepping(ucontext_t& where) const noexcept {
    if (is_stepping()) where.uc_mcontext.gregs[REG_EFL] |= trap_flag;
}

bool worker::handles_trap(ucontext_t& where) noexcept {
    auto& flags = where.uc_mcontext.gregs[REG_EFL];
    if (!is_stepping()) {
        // The trap belongs to a context that is being switched away, or was switched away, in the middle of a step.
        return std::exchange(flags, flags & ~trap_flag) != flags;
    }
    context& c = *running_;
    if (!c.stack_overflowed) {
        step_doomed(c, where);
        return true;
    }
    if (!scheduler_.application().contains(instruction_of(where))) return true;
    const bool leaves = c.descriptor->exceptions->uncaught != 0;
    if (!leaves && !may_terminate(c, where)) return true;
    c.single_steps.end();
    flags &= ~trap_flag;
    return leaves || terminate(c, where);
}

void worker::step_doomed(context& c, ucontext_t& where) noexcept {
    const bool there = scheduler_.application().contains(instruction_of(where)) && may_terminate_doomed(c, where);
    if (there) c.single_steps.end();
    else if (c.single_steps.continues() && can_step(where)) return;
    else c.single_steps.pause(base::real_now());
    where.uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (there) terminate(c, where);  // if this fails, later ticks try again
}

void worker::handle_fault(int signal, siginfo_t* what, void* interrupted) noexcept {
    worker* const w = current();
    const int error = errno;
    const bool handled = w != nullptr && w->handles_overflow(*what, *static_cast<ucontext_t*>(interrupted));
    errno = error;
    if (!handled) forward_fault(signal, what, interrupted);
}

void worker::handle_trap(int signal, siginfo_t* what, void* interrupted) noexcept {
    worker* const w = current();
    const int error = errno;
    const bool handled =
        w != nullptr && what->si_code == TRAP_TRACE && w->handles_trap(*static_cast<ucontext_t*>(interrupted));
    errno = error;
    if (!handled) forward_fault(signal, what, interrupted);
}

}  // namespace tutti::preempt
