// Exceptions inside transactions.
//
// An exception that is thrown and caught within a transaction belongs to it: a roll-back must free it, and put the
// counters of the C++ runtime back. Its destructor does not run, because what its constructor wrote is undone.
// libstdc++ has a function for this, __cxa_tm_cleanup.
//
//   made, not thrown yet    __cxa_tm_cleanup(object, …)
//   in flight               __cxa_tm_cleanup(…, its unwind header, …)
//   being handled           __cxa_tm_cleanup(…, how many)
#include <unwind.h>

#include "itm/block.hpp"

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

/// An exception object comes right after its unwind header.
void* header_of(void* object) noexcept { return static_cast<char*>(object) - sizeof(_Unwind_Exception); }

void forget(side& s, const void* object) noexcept {
    for (std::size_t i = s.thrown.size(); i-- != 0;) {
        if (s.thrown[i].object != object) continue;
        for (; i + 1 != s.thrown.size(); ++i) s.thrown[i] = s.thrown[i + 1];
        s.thrown.pop();
        return;
    }
}

bool in_transaction(const descriptor* d) noexcept { return d != nullptr && d->language != nullptr && d->running(); }

}  // namespace

void forget_exceptions(descriptor& d, const exception_mark& mark) noexcept {
    side& s = side_of(d);
    if (s.caught > mark.caught) __cxa_tm_cleanup(nullptr, nullptr, s.caught - mark.caught);
    s.caught = mark.caught;
    bool leaving_is_ours = false;
    while (s.thrown.size() > mark.thrown) {
        const exception_object e = s.thrown.back();
        s.thrown.pop();
        if (s.leaving == header_of(e.object)) leaving_is_ours = true;
        if (e.in_flight) __cxa_tm_cleanup(nullptr, header_of(e.object), 0);
        else __cxa_tm_cleanup(e.object, nullptr, 0);
    }
    // Thrown by code that is not instrumented.
    if (s.leaving != nullptr && !leaving_is_ours) __cxa_tm_cleanup(nullptr, s.leaving, 0);
    s.leaving = nullptr;
    const_cast<core::exception_globals*>(d.exceptions)->uncaught = mark.uncaught;
}

}  // namespace tutti::itm

using namespace tutti::itm;

TUTTI_ITM void* _ITM_cxa_allocate_exception(std::size_t size) noexcept {
    void* const object = __cxa_allocate_exception(size);
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (in_transaction(d)) side_of(*d).thrown.push({object, false});
    return object;
}

TUTTI_ITM void _ITM_cxa_free_exception(void* object) noexcept {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (in_transaction(d)) forget(side_of(*d), object);
    __cxa_free_exception(object);
}

TUTTI_ITM void _ITM_cxa_throw(void* object, void* type, void (*destroy)(void*)) {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (in_transaction(d)) {
        for (exception_object& e : side_of(*d).thrown) {
            if (e.object == object) e.in_flight = true;
        }
    }
    __cxa_throw(object, type, destroy);
}

TUTTI_ITM void* _ITM_cxa_begin_catch(void* exception) noexcept {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (in_transaction(d)) {
        side& s = side_of(*d);
        ++s.caught;
        forget(s, static_cast<char*>(exception) + sizeof(_Unwind_Exception));
    }
    return __cxa_begin_catch(exception);
}

TUTTI_ITM void _ITM_cxa_end_catch() {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (in_transaction(d)) {
        // A signal passes on its way to the library. What was being handled in the block has been forgotten, be its
        // frame dropped or, as here, unwound.
        if (d->pending != tutti::core::signal::none && !is_block(d->frame_)) return;
        if (side_of(*d).caught != 0) --side_of(*d).caught;
    }
    __cxa_end_catch();
}
