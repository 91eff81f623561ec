#include "core/lifecycle/registry.hpp"
#include "core/state/fault_injection.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/fence.hpp"
#include "base/never_destroyed.hpp"
#include "base/panic.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "core/lifecycle/log_memory.hpp"
#include "core/lifecycle/retired.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence_set.hpp"
#include "core/tokens/serial_token.hpp"
#include "observe/site.hpp"

namespace tutti::detail {

__thread tx* current_transaction = nullptr;

}  // namespace tutti::detail

namespace tutti::core {
namespace {

struct pool {
    std::mutex mutex;
    std::vector<descriptor*> free;
};

constinit base::never_destroyed<pool> descriptors;

/// Returns the stack pointer of the function that called at_exit's caller, or of a frame close to it if the stack
/// cannot be read that far. All frames of the thread's own code were below that address.
TUTTI_NOINLINE std::uintptr_t stack_of_thread_start() noexcept {
    struct walk {
        int frames;
        std::uintptr_t stack;
    } w{5, 0};
    ::_Unwind_Backtrace(
        [](_Unwind_Context* frame, void* argument) {
            walk& here = *static_cast<walk*>(argument);
            if (here.frames-- == 0) return _URC_END_OF_STACK;
            // A frame is identified by the value of its stack pointer after the call has returned.
            here.stack = static_cast<std::uintptr_t>(_Unwind_GetCFA(frame));
            return _URC_NO_REASON;
        },
        &w);
    return w.stack;
}

/// Ends a transaction if its thread exits in the middle of it without unwinding its frames. Such an exit happens in
/// code without exceptions, for example in a language-level block in C. A serial transaction cannot be undone, so it
/// commits, as it does when its frames are unwound. The frames of the open blocks are gone.
TUTTI_NOINLINE void end_with_thread(descriptor& d) noexcept {
    if (ends_cancellable_anywhere()) die_of_asynchronous_cancel(d);
    d.rollback_stack_end = stack_of_thread_start();
    if (!d.serial || !d.operations_->commit(d)) detail::fail(d);
    d.rollback_stack_end = 0;
}

void at_exit(void* d) {
    auto& leaving = *static_cast<descriptor*>(d);
    if (leaving.running()) end_with_thread(leaving);
    detail::current_transaction = nullptr;
    release_descriptor(leaving);
}

// A pthread key is used because keys are destroyed after all thread_local objects, whose destructors may run
// transactions. If a destructor of another key runs a transaction, it sets this key anew, and the key is destroyed
// again.
pthread_key_t exit_key() {
    static const pthread_key_t key = [] {
        pthread_key_t k{};
        if (::pthread_key_create(&k, at_exit) != 0) base::panic("no pthread key is left for thread exits");
        return k;
    }();
    return key;
}

}  // namespace

descriptor& acquire_descriptor() {
    pool& p = descriptors.value;
    descriptor* d = nullptr;
    {
        const std::lock_guard guard{p.mutex};
        if (!p.free.empty()) {
            d = p.free.back();
            p.free.pop_back();
        } else {
            p.free.reserve(memory::status_record_count() + 1);  // so that release_descriptor cannot fail
            d = new descriptor;
        }
    }
    d->algorithm = &chosen_instance();
    d->operations_ = d->algorithm;
    d->exceptions = reinterpret_cast<const exception_globals*>(abi::__cxa_get_globals());
    return *d;
}

void release_descriptor(descriptor& d) noexcept {
    if (d.serial) end_serial(d);  // its transaction never ended: the thread exited during it
    if (d.inner != nullptr) release_descriptor(*std::exchange(d.inner, nullptr));
    d.outer = nullptr;
    d.limbo.move_to_orphaned_limbo(d);
    request_orphan_collection();
    release_log_memory(d);
    d.hooks = nullptr;
    d.shows_thread.store(0, std::memory_order_relaxed);
    d.notes_end = 0;
    d.pending_tick.store(false, std::memory_order_relaxed);  // no handler that could serve it is left
    d.critical_depth.store(0, std::memory_order_relaxed);
    d.unfinished_handlers.store(0, std::memory_order_release);  // a handler may have ended the thread
    if (injected(fault::forget_descriptors)) return;
    pool& p = descriptors.value;
    const std::lock_guard guard{p.mutex};
    p.free.push_back(&d);
}

void lock_registry() noexcept {
    descriptors.value.mutex.lock();
    memory::lock_orphaned_limbo();  // release_descriptor passes objects to it before it locks the mutex
    observe::lock_sites();
    lock_quiescence_set();
}
void unlock_registry() noexcept {
    unlock_quiescence_set();
    observe::unlock_sites();
    memory::unlock_orphaned_limbo();
    descriptors.value.mutex.unlock();
}

void make_preemptable(descriptor& d, const preemption& hooks) noexcept {
    d.hooks = &hooks;
    d.algorithm = d.algorithm->preemptable;
    d.operations_ = d.algorithm;
}

descriptor& attach() {
    descriptor& d = acquire_descriptor();
    if (::pthread_setspecific(exit_key(), &d) != 0) {
        release_descriptor(d);
        throw std::bad_alloc{};
    }
    d.shows_thread.store(::gettid(), std::memory_order_relaxed);
    detail::current_transaction = &d;
    return d;
}

void detach() noexcept {
    if (detail::current_transaction == nullptr) return;
    auto& d = descriptor::of(*detail::current_transaction);
    detail::current_transaction = nullptr;
    ::pthread_setspecific(exit_key(), nullptr);
    release_descriptor(d);
}

}  // namespace tutti::core

namespace tutti::detail {

tx& attach() { return core::attach(); }

}  // namespace tutti::detail
