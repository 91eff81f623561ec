// Exceptions inside transactions.
//
// An exception that is thrown and caught within a transaction belongs to the transaction. A roll-back must free the
// exception and restore the counters of the C++ runtime. The roll-back must not run the exception's destructor, because
// the constructor's writes are undone. For this purpose libstdc++ has the function __cxa_tm_cleanup, which drops
// references to exceptions. Each call drops either the references of a number of handlers (…, count), or the reference
// of an exception in flight (…, its unwind header, …).
//
// The undo log contains what blocks write into an exception. The log of handlers contains the memory that libstdc++
// allocated for the exception. So the object must exist until the transaction ends. The end of a handler would destroy
// the object, so the transaction holds a reference of its own. The commit destroys the object. A roll-back frees the
// object after its memory has been restored.
#include <unwind.h>

#include <exception>
#include <new>

#include "itm/block.hpp"
#include "tutti/tx.hpp"

extern "C" {
void __cxa_tm_cleanup(void* unthrown, void* in_flight, unsigned caught) noexcept;
void* __cxa_allocate_exception(std::size_t) noexcept;
void __cxa_free_exception(void*) noexcept;
[[noreturn]] void __cxa_throw(void*, void*, void (*)(void*));
void* __cxa_begin_catch(void*) noexcept;
void __cxa_end_catch();
}

namespace tutti::itm {
namespace {

constexpr std::uint64_t class_of_cxx = 0x474e5543432b2b00;  // "GNUCC++\0": a primary exception, not a dependent one

/// The exception object directly follows its unwind header.
void* header_of(void* object) noexcept { return static_cast<char*>(object) - sizeof(_Unwind_Exception); }
void* object_of(void* header) noexcept { return static_cast<char*>(header) + sizeof(_Unwind_Exception); }

constexpr detail::destroyer free_unthrown = [](void* object) { __cxa_free_exception(object); };
/// Drops a reference. Dropping the last one frees the exception without running its destructor.
constexpr detail::destroyer drop = [](void* object) { __cxa_tm_cleanup(nullptr, header_of(object), 0); };

static_assert(sizeof(std::exception_ptr) == sizeof(void*));  // an exception_ptr is the address of the object

void add_reference(void* object) noexcept {
    alignas(std::exception_ptr) unsigned char mine[sizeof(void*)];
    ::new (mine) std::exception_ptr{reinterpret_cast<const std::exception_ptr&>(object)};
}

/// Drops a reference. Dropping the last one runs the destructor.
struct drop_reference {
    void* object;
    void operator()() const noexcept {
        reinterpret_cast<std::exception_ptr*>(const_cast<void**>(&object))->~exception_ptr();
    }
};

exception_object* find(runtime_state& s, const void* object) noexcept {
    for (std::size_t i = s.thrown.size(); i-- != 0;) {
        if (s.thrown[i].object == object) return &s.thrown[i];
    }
    return nullptr;
}

/// Returns the transaction that runs in the calling context, or null.
descriptor* running_transaction() noexcept {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    return d != nullptr && has_runtime_state(*d) && d->running() ? d : nullptr;
}

/// If a roll-back is possible, makes a roll-back free the object by calling `destroy`.
void add_exception(descriptor& d, void* object, detail::destroyer destroy, bool held) {
    core::defer(d, core::deferred::kind::exception, object, destroy);
    runtime_state_of(d).thrown.push({object, held});
}

/// Replaces the function by which a roll-back frees the object, after add_exception(). The entry is found by the object
/// instead of its position, because the roll-back of a block in the object's constructor moves entries of the log.
void replace_destroyer(descriptor& d, const void* object, detail::destroyer destroy) noexcept {
    for (std::size_t i = d.deferred_log.size(); i-- != 0;) {
        core::deferred& e = d.deferred_log[i];
        if (e.what != core::deferred::kind::exception || e.object != object) continue;
        e.destroy = destroy;
        return;
    }
}

/// Keeps the exception alive until the transaction ends. May leave the frame. REQUIRES: the exception has been thrown.
void hold_exception(descriptor& d, void* header) {
    if (static_cast<const _Unwind_Exception*>(header)->exception_class != class_of_cxx) return;
    void* const object = object_of(header);
    exception_object* known = find(runtime_state_of(d), object);
    if (known != nullptr ? known->held : runtime_state_of(d).direct) return;
    d.on_commit(drop_reference{object});
    add_reference(object);
    if (known != nullptr) known->held = true;
    else add_exception(d, object, drop, true);
}

}  // namespace

void forget_exceptions(descriptor& d, const exception_mark& mark) noexcept {
    runtime_state& s = runtime_state_of(d);
    if (s.caught > mark.caught) __cxa_tm_cleanup(nullptr, nullptr, s.caught - mark.caught);
    s.caught = mark.caught;
    if (s.leaving_exception != nullptr) {
        // If the transaction does not hold the exception, another part of the roll-back drops its reference.
        const exception_object* const known = find(s, object_of(s.leaving_exception));
        if (known == nullptr || known->held) __cxa_tm_cleanup(nullptr, s.leaving_exception, 0);
    }
    s.thrown.shrink(mark.thrown);
    s.leaving_exception = nullptr;
    const_cast<core::exception_globals*>(d.exceptions)->uncaught = mark.uncaught;
}

void hold_leaving_exception(descriptor& d) {
    if (void* const header = runtime_state_of(d).leaving_exception) hold_exception(d, header);
}

}  // namespace tutti::itm

using namespace tutti::itm;

TUTTI_ITM void* _ITM_cxa_allocate_exception(std::size_t size) noexcept {
    void* const object = __cxa_allocate_exception(size);
    descriptor* const d = running_transaction();
    if (d != nullptr && !runtime_state_of(*d).direct) add_exception(*d, object, free_unthrown, false);
    return object;
}

TUTTI_ITM void _ITM_cxa_free_exception(void* object) noexcept {
    descriptor* const d = running_transaction();
    if (d == nullptr || find(runtime_state_of(*d), object) == nullptr) return __cxa_free_exception(object);
    d->on_commit([object] { __cxa_free_exception(object); });
}

TUTTI_ITM void _ITM_cxa_throw(void* object, void* type, void (*destroy)(void*)) {
    if (descriptor* const d = running_transaction()) {
        if (find(runtime_state_of(*d), object) != nullptr) replace_destroyer(*d, object, drop);
    }
    __cxa_throw(object, type, destroy);
}

TUTTI_ITM void* _ITM_cxa_begin_catch(void* exception) noexcept {
    if (descriptor* const d = running_transaction()) {
        hold_exception(*d, exception);
        ++runtime_state_of(*d).caught;
    }
    return __cxa_begin_catch(exception);
}

TUTTI_ITM void _ITM_cxa_end_catch() {
    if (descriptor* const d = running_transaction()) {
        // This handler ends because a signal unwinds the stack on its way to a block of the library. The block of the
        // language has already forgotten the exceptions that it was handling.
        if (d->pending != tutti::core::signal::none && !is_block(d->frame_)) return;
        if (runtime_state_of(*d).caught != 0) --runtime_state_of(*d).caught;
    }
    __cxa_end_catch();
}
