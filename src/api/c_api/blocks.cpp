// Atomic blocks of the C interface: outermost blocks, nested blocks, alternatives, and the rest of a transaction after
// a checkpoint.
//
// A block can be left in three ways. First, its body returns. Second, a signal or an error jumps to the block's frame.
// Third, an exception (also `unwind`) arrives from C++ code inside the body. Each function that sets a jump target
// calls the body through another function that is not inlined. This is necessary because a jump does not restore values
// that the compiler keeps in registers of the skipped code.
#include <cstdlib>
#include <cstring>

#include "api/c_api/boundary.hpp"
#include "api/c_api/options.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/execution.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/critical.hpp"
#include "tutti/atomically.hpp"

// These functions are defined if the program contains a sanitizer's runtime.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __hwasan_init();
}

namespace tutti::api {
namespace {

static_assert(sizeof(detail::site_slot) == sizeof(tutti_site) && alignof(detail::site_slot) == alignof(tutti_site));
static_assert(offsetof(detail::site_slot, file) == offsetof(tutti_site, file));
static_assert(offsetof(detail::site_slot, function) == offsetof(tutti_site, function));
static_assert(offsetof(detail::site_slot, line) == offsetof(tutti_site, line));

/// A body and its argument, callable like a C++ body.
struct c_body {
    tutti_body* body;
    void* argument;
    bool committed = false;  // the block has committed, but an exception leaves it
    void operator()(tx& t) const { body(to_c(t), argument); }
};

/// Returns true if the program runs under a sanitizer. A sanitizer can follow jumps past the program's frames only if
/// the C library makes them. The library may be compiled without the sanitizer, so the check is at run time.
bool sanitized() noexcept { return __asan_init != nullptr || __tsan_init != nullptr || __hwasan_init != nullptr; }

/// A frame that is the target of either kind of jump.
struct c_frame : detail::frame_for_library_jump {
    c_frame() noexcept {
        if (!sanitized()) jump = leap_by_compiler;
    }
    void* state_by_compiler[5];
    [[noreturn]] TUTTI_NOINLINE static void leap_by_compiler(detail::frame& to) {
        __builtin_longjmp(static_cast<c_frame&>(to).state_by_compiler, 1);
    }
};
#define TUTTI_SET_C_TARGET(f) (sanitized() ? _setjmp((f).state) != 0 : __builtin_setjmp((f).state_by_compiler) != 0)

// ---- outermost ------------------------------------------------------------------------------------------------

/// Runs the body and commits, again and again until the commit succeeds. REQUIRES: the first attempt has begun.
TUTTI_NOINLINE int run_attempts(tx& t, c_body& body) {
    for (;;) {
        try {
            body(t);
            if (detail::access::ops(t).commit(t)) return TUTTI_COMMITTED;
        } catch (...) {
            // The signal may come from a C++ block inside the body, which has ended by now.
            if (!detail::signalled(t)) {
                // If an on_commit handler throws, the block is already over.
                body.committed = !detail::access::running(t);
                detail::fail(t);
                throw;
            }
        }
        if (detail::reopen(t) == detail::after_rollback::cancelled) return TUTTI_CANCELLED;
    }
}

TUTTI_NOINLINE int run_outermost(tx& t, const options& how, c_body& body, detail::site_slot& slot) {
    int failure = 0;
    c_frame f;
    f.failure = &failure;
    f.read_only = how.read_only;
    detail::access::open(t, f, slot, {}, how);
    if (TUTTI_SET_C_TARGET(f)) {
        detail::landed();
        if (failure != 0) {
            core::execution_abandon(core::descriptor::of(t),
                                    failure == TUTTI_ERROR_MEMORY ? abort_cause::allocation : abort_cause::usage);
            return failure;
        }
        if (detail::reopen(t) == detail::after_rollback::cancelled) return TUTTI_CANCELLED;
    }
    return run_attempts(t, body);
}

// ---- nested ---------------------------------------------------------------------------------------------------

/// Returns true if the block has closed, and false if it has unwound.
TUTTI_NOINLINE bool run_nested_attempt(tx& t, detail::frame& f, c_body& body) {
    try {
        body(t);
        detail::close_nested(t, f);
        return true;
    } catch (...) {
        if (detail::signalled(t)) return false;
        detail::fail_nested(t, f);
        throw;
    }
}

/// Memory that a block writes without the transaction. A restart of the block restores its old contents.
struct saved_memory {
    void* at;
    const void* copy;
    std::size_t bytes;
    void restore() const noexcept {
        if (bytes != 0) std::memcpy(at, copy, bytes);
    }
};

enum class role : std::uint8_t { child, alternative, rest };

/// @return a result; for an alternative, TUTTI_CANCELLED if it called retry
TUTTI_NOINLINE int run_nested(tx& t, c_body& body, role r, const saved_memory& saved = {}) {
    int failure = 0;
    c_frame f;
    f.failure = &failure;
    f.alternative = r == role::alternative;
    f.checkpoint = r == role::rest;
    for (;;) {
        detail::open_nested(t, f);
        if (TUTTI_SET_C_TARGET(f)) {
            detail::landed();
        } else if (run_nested_attempt(t, f, body)) {
            return TUTTI_COMMITTED;
        }
        if (failure != 0) {
            detail::fail_nested(t, f);
            return failure;
        }
        switch (detail::reopen_nested(t, f)) {
            case detail::after_rollback::again: saved.restore(); break;
            case detail::after_rollback::cancelled: return TUTTI_CANCELLED;
            case detail::after_rollback::propagate: detail::propagate(t);
        }
    }
}

int run(tutti_site& site, const tutti_options* options_or_null, c_body& body) {
    const c_options given{options_or_null};
    const options& how = given.get();
    if (body.body == nullptr) throw usage_error{"tutti_atomically: the body is null"};
    tx& t = detail::current_or_attach();
    if (detail::access::running(t)) {
        if (how.nesting == nesting::closed) return run_nested(t, body, role::child);
        body(t);
        return TUTTI_COMMITTED;
    }
    try {
        const int result = run_outermost(t, how, body, *reinterpret_cast<detail::site_slot*>(&site));
        given.report();
        return result;
    } catch (...) {
        given.report();
        detail::fail(t);  // needed if an attempt could not begin, or the wait for it failed
        throw;
    }
}

/// Runs the alternatives in order, until one of them does not call retry.
int choose(tx& t, const tutti_alternative* alternatives, std::size_t count) {
    for (std::size_t i = 0;; ++i) {
        const bool last = i + 1 == count;
        c_body body{alternatives[i].body, alternatives[i].argument};
        const int result = run_nested(t, body, last ? role::child : role::alternative);
        if (last || result != TUTTI_CANCELLED) return result;
    }
}

/// Copies memory into the log. The log owns the copy and frees it when the transaction ends, because a jump may skip
/// frames.
const void* copy_for_log(core::descriptor& d, const void* from, std::size_t bytes) {
    return core::in_critical_region(d, [&] {
        d.deferred_log.reserve_one();
        void* const copy = std::malloc(bytes);
        if (copy == nullptr) throw std::bad_alloc{};
        core::defer(d, core::deferred::kind::discarded, copy, [](void* memory) { std::free(memory); });
        return std::memcpy(copy, from, bytes);
    });
}

/// Runs a nested block for a call that reports errors as results.
template <class F>
int result_of(F&& block) {
    try {
        return block();
    } catch (const usage_error&) {
        return result_of_exception();
    } catch (const std::bad_alloc&) {
        return result_of_exception();
    } catch (const cancelled&) {
        return result_of_exception();
    }
}

}  // namespace
}  // namespace tutti::api

using namespace tutti::api;

int tutti_atomically_at(tutti_site* site, const tutti_options* how, tutti_body* body, void* argument) {
    c_body what{body, argument};
    try {
        return run(*site, how, what);
    } catch (const tutti::usage_error&) {
        if (what.committed) throw;
        return result_of_exception();
    } catch (const std::bad_alloc&) {
        if (what.committed) throw;
        return result_of_exception();
    } catch (const tutti::cancelled&) {
        if (what.committed) throw;
        return result_of_exception();
    } catch (const tutti::deadline_missed&) {
        if (what.committed) throw;
        return result_of_exception();
    }
}

int(tutti_atomically)(const tutti_options* how, tutti_body* body, void* argument) {
    static tutti_site nowhere{nullptr, "", "", 0};
    return tutti_atomically_at(&nowhere, how, body, argument);
}

int tutti_or_else(tutti_tx* handle, const tutti_alternative* alternatives, size_t count) {
    if (alternatives == nullptr || count == 0) fail_use(handle, "tutti_or_else: there is no alternative to run");
    for (size_t i = 0; i < count; ++i) {
        if (alternatives[i].body == nullptr) fail_use(handle, "tutti_or_else: an alternative's body is null");
    }
    const int result = result_of([&] { return choose(tutti::from_c(handle), alternatives, count); });
    // Only the last alternative returns TUTTI_CANCELLED here, because a cancel in any other alternative already ends
    // the outer block. So this code cancels the outer block.
    if (result == TUTTI_CANCELLED) tutti_cancel(handle);
    return result;
}

int tutti_checkpoint(tutti_tx* handle, tutti_body* rest, void* argument, void* locals, size_t bytes) {
    if (rest == nullptr) fail_use(handle, "tutti_checkpoint: the rest of the transaction is null");
    if (locals == nullptr && bytes != 0) fail_use(handle, "tutti_checkpoint: locals is null, but bytes is not 0");
    const void* const copy = guarded(handle, [&](tutti::tx& t) -> const void* {
        auto& d = tutti::core::descriptor::of(t);
        if (!d.healthy()) tutti::core::check_access(d);
        return bytes != 0 ? copy_for_log(d, locals, bytes) : nullptr;
    });
    c_body what{rest, argument};
    return result_of([&] { return run_nested(tutti::from_c(handle), what, role::rest, {locals, copy, bytes}); });
}
