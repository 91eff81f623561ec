// Handles local statics that a block initialises. This file defines the clones of the C++ ABI's __cxa_guard_acquire,
// release and abort. It also defines clones of two other functions: the load that checks whether a static is
// initialised, and the registration of its destructor.
//
// A block that initialises a static acquires the real guard. So for every other thread, the block is like any thread
// that initialises the static. Usually, the other thread waits. The block writes the object through barriers. The end
// of the transaction also decides the state of the guard:
//
//   the block          the guard's bytes          what a thread outside of the block sees
//   has acquired it    pending                    an initialisation in progress
//   has released it    pending, until it commits  the same, because the object may still be rolled back
//   commits            done                       an initialised object
//   is rolled back     free                       an uninitialised static
//   has aborted it     pending, until it commits  the same, because the undo log still has entries for the object
//
// A roll-back restores memory before it runs owned_resource::undo. So when the guard is free again, the object has the
// bytes that it had before the block. The next thread initialises the object from that state.
//
// A block never sleeps for a guard while other threads may wait for the block, but restarts after some milliseconds.
// Only a block that must commit waits in libstdc++'s own function.
//
// A thread whose block has released a guard may find that guard still pending. This happens if the thread runs code
// without barriers: in a commit action, in a function marked as pure, or after a switch to irrevocability. libstdc++
// would then make the thread wait for itself. So this library interposes libstdc++'s __cxa_guard_acquire, which reports
// to such a thread that the object is initialised.
#include <cxxabi.h>
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <new>

#include "api/hooks/language.hpp"
#include "base/futex.hpp"
#include "base/short_sleep.hpp"
#include "libc/context_state.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::libc {

using guard = __cxxabiv1::__guard;

/// A guard that the running transaction has acquired. The object deletes itself when the transaction has ended.
struct held_guard final : core::owned_resource {
    enum class phase { initialising, done, aborted };

    held_guard(context_state& of, guard* g) noexcept : at{g}, context{of} {}

    void arm() noexcept {
        older = context.guards;
        context.guards = this;
        armed = true;
    }
    void release() noexcept override;
    void undo(core::descriptor& d) noexcept override;

    guard* at;
    context_state& context;
    held_guard* older = nullptr;
    phase current_phase = phase::initialising;
    bool armed = false;      ///< false if another thread was faster, or if the block left the frame while it waited
    bool has_newer = false;  ///< a newer object for the same guard decides the guard's state at the end

private:
    void unlink() noexcept;
};

namespace {

constexpr int done_bit = 1, pending_bit = 1 << 8;

int* word_of(guard* g) noexcept { return reinterpret_cast<int*>(g); }

bool is_initialised(guard* g) noexcept {
    // Partner: the release in __cxa_guard_release.
    return (__atomic_load_n(word_of(g), __ATOMIC_ACQUIRE) & done_bit) != 0;
}

/// Acquires a free guard, as the first step of libstdc++'s function does. Returns false if the guard is done or
/// pending.
bool try_acquire(guard* g) noexcept {
    int expected = 0;
    return __atomic_compare_exchange_n(word_of(g), &expected, pending_bit, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

using acquire_function = int (*)(guard*);

/// Calls libstdc++'s function, which this library interposes.
int acquire_outside(guard* g) {
    constinit static std::atomic<acquire_function> known{nullptr};
    acquire_function f = known.load(std::memory_order_relaxed);
    if (f == nullptr) {
        f = reinterpret_cast<acquire_function>(::dlsym(RTLD_NEXT, "__cxa_guard_acquire"));
        if (f == nullptr) api::panic("the C++ library has no __cxa_guard_acquire");
        known.store(f, std::memory_order_relaxed);
    }
    return f(g);
}

/// Tests the layout of guards with a guard of its own. The bits above depend on the implementation, and a sanitizer
/// uses other bits.
bool try_layout() {
    guard probe{};
    if (acquire_outside(&probe) != 1 || *word_of(&probe) != pending_bit) return false;
    __cxxabiv1::__cxa_guard_release(&probe);
    return *word_of(&probe) == done_bit && *reinterpret_cast<const char*>(&probe) == 1;
}

bool is_known_layout() {
    constinit static std::atomic<int> known{0};
    int answer = known.load(std::memory_order_relaxed);
    if (answer == 0) {
        answer = try_layout() ? 1 : -1;
        known.store(answer, std::memory_order_relaxed);
    }
    return answer > 0;
}

held_guard* find(const context_state& s, const guard* g) noexcept {
    held_guard* at = s.guards;
    while (at != nullptr && at->at != g) at = at->older;
    return at;
}

/// Returns the guard's entry in the calling context, or null. Outside of transactions the list is empty.
held_guard* find_held_guard(const guard* g) noexcept {
    const tx* const t = detail::current_transaction;
    if (t == nullptr) return nullptr;
    const auto* const s = static_cast<const descriptor&>(*t).data_of_layer<context_state>();
    return s != nullptr ? find(*s, g) : nullptr;
}

/// Registers the action that ends the guard. This happens before the guard is acquired, because registering may leave
/// the frame. Returns null if there is no memory for the action.
held_guard* prepare(descriptor& d, context_state& s, guard* g) {
    if (!d.healthy()) static_cast<void>(api::attempt_continues(d));  // leaves the frame if a signal is pending
    try {
        d.deferred_log.reserve_one();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    auto* const fresh = new (std::nothrow) held_guard{s, g};
    if (fresh != nullptr) api::add_owned_resource(d, *fresh);
    return fresh;
}

/// Returns true if the block has acquired the guard, and false if the object is initialised. Restarts the block if
/// neither happens within some time.
bool acquire_or_restart(tx& t, guard* g) {
    constexpr int spins = 200, sleeps = 50;
    for (int i = 0; i != spins; ++i) {
        if (is_initialised(g)) return false;
        if (try_acquire(g)) return true;
        base::spin_turn();
    }
    if (descriptor::of(t).cannot_be_killed()) return acquire_outside(g) != 0;
    for (int i = 0; i != sleeps; ++i) {
        base::short_sleep_for(200'000);
        if (is_initialised(g)) return false;
        if (try_acquire(g)) return true;
    }
    detail::raise_restart(t);
}

int acquire(tx& t, guard* g) {
    if (is_initialised(g)) return 0;
    descriptor& d = descriptor::of(t);
    context_state* const s = is_known_layout() ? state_of(d) : nullptr;
    held_guard* const known = s != nullptr ? find(*s, g) : nullptr;
    if (known != nullptr && known->current_phase == held_guard::phase::done) return 0;
    if (known != nullptr && known->current_phase == held_guard::phase::initialising) {
        api::panic("the initialisation of a local static enters itself");
    }
    held_guard* const prepared = s != nullptr ? prepare(d, *s, g) : nullptr;
    if (prepared == nullptr) {
        become_irrevocable(t, "the initialisation of a local static, where a transaction cannot undo it");
        return acquire_outside(g);
    }
    if (known != nullptr) known->has_newer = true;
    else if (!acquire_or_restart(t, g)) return 0;
    prepared->arm();  // nothing between the two steps leaves the frame
    return 1;
}

}  // namespace

void held_guard::unlink() noexcept {
    held_guard** link = &context.guards;
    while (*link != this) link = &(*link)->older;
    *link = older;
}

void held_guard::release() noexcept {
    if (armed) {
        unlink();
        // If a guard is still initialising here, it belongs to a block that continues without barriers, and that block
        // ends the guard directly.
        if (!has_newer && current_phase == phase::done) __cxxabiv1::__cxa_guard_release(at);
        if (!has_newer && current_phase == phase::aborted) __cxxabiv1::__cxa_guard_abort(at);
    }
    delete this;
}

void held_guard::undo(core::descriptor&) noexcept {
    if (armed) {
        unlink();
        if (held_guard* const before = find(context, at)) before->has_newer = false;
        else __cxxabiv1::__cxa_guard_abort(at);
    }
    delete this;
}

}  // namespace tutti::libc

namespace {

using tutti::libc::guard;
using tutti::libc::held_guard;

/// Ends the guard if a block of the calling thread holds it. Otherwise returns false.
bool end_within(guard* g, held_guard::phase how) noexcept {
    held_guard* const held = tutti::libc::find_held_guard(g);
    if (held == nullptr) return false;
    held->current_phase = how;
    return true;
}

}  // namespace

extern "C" {

TUTTI_EXPORT int tutti_clone_of_guard_acquire(guard* g) __asm__("_ZGTt19__cxa_guard_acquire");
int tutti_clone_of_guard_acquire(guard* g) {
    if (tutti::tx* const t =
            tutti::libc::transaction_of_call({"a local static's initialisation", __builtin_return_address(0)}))
        return tutti::libc::acquire(*t, g);
    return __cxxabiv1::__cxa_guard_acquire(g);
}

TUTTI_EXPORT void tutti_clone_of_guard_release(guard* g) noexcept __asm__("_ZGTt19__cxa_guard_release");
void tutti_clone_of_guard_release(guard* g) noexcept {
    if (!end_within(g, held_guard::phase::done)) __cxxabiv1::__cxa_guard_release(g);
}

TUTTI_EXPORT void tutti_clone_of_guard_abort(guard* g) noexcept __asm__("_ZGTt17__cxa_guard_abort");
void tutti_clone_of_guard_abort(guard* g) noexcept {
    if (!end_within(g, held_guard::phase::aborted)) __cxxabiv1::__cxa_guard_abort(g);
}

/// Interposes libstdc++'s function.
TUTTI_EXPORT int tutti_guard_acquire(guard* g) __asm__("__cxa_guard_acquire");
int tutti_guard_acquire(guard* g) {
    const held_guard* const held = tutti::libc::find_held_guard(g);
    if (held != nullptr && held->current_phase == held_guard::phase::done) return 0;
    return tutti::libc::acquire_outside(g);
}

/// By this load, GCC's code checks whether a static is initialised.
TUTTI_EXPORT unsigned char tutti_clone_of_atomic_load_1(const volatile void* from,
                                                               int order) __asm__("_ZGTt15__atomic_load_1");
unsigned char tutti_clone_of_atomic_load_1(const volatile void* from, int) {
    const auto* const byte = static_cast<const unsigned char*>(const_cast<const void*>(from));
    if (tutti::tx* const t = tutti::libc::transaction_of_call({})) return tutti::libc::read(*t, byte);
    return __atomic_load_n(byte, __ATOMIC_SEQ_CST);
}

// The registration is deferred to the commit, because the exit must not destroy an object whose construction was rolled
// back.
int __cxa_atexit(void (*)(void*), void*, void*) noexcept;

TUTTI_EXPORT int tutti_clone_of_cxa_atexit(void (*destroy)(void*), void* object,
                                                  void* dso) __asm__("_ZGTt12__cxa_atexit");
int tutti_clone_of_cxa_atexit(void (*destroy)(void*), void* object, void* dso) {
    using namespace tutti::libc;
    if (tutti::tx* const t = transaction_of_call({"a destructor at the exit", __builtin_return_address(0)})) {
        if (defer(*t, tutti::detail::handler_point::at_commit, [=] { ::__cxa_atexit(destroy, object, dso); })) return 0;
        become_irrevocable(*t, "a local static's destructor, without memory to defer it");
    }
    return ::__cxa_atexit(destroy, object, dso);
}
}
