#include "base/noexcept_boundary.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <cstdlib>

#if defined(__x86_64__)

extern "C" _Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions,
                                                    _Unwind_Exception_Class exception_class,
                                                    struct _Unwind_Exception* exception,
                                                    struct _Unwind_Context* context);
extern "C" void __asan_handle_no_return() __attribute__((weak));

// Loads the point's registers, and jumps to `throws`. The stack pointer is loaded last: afterwards a signal may
// overwrite the memory below the stack pointer, which contains `*point` and the dropped frames. The point's function
// had this stack pointer at its call, so the return address is still just below it.
extern "C" __attribute__((visibility("hidden"))) [[noreturn]] void tutti_base_call_from(
    const tutti::base::return_point* point, void (*throws)()) noexcept;
asm(R"(
    .text
    .p2align 4
    .globl tutti_base_call_from
    .hidden tutti_base_call_from
    .type tutti_base_call_from, @function
tutti_base_call_from:
    movq %rsi, %rax
    movq 0(%rdi), %rbx
    movq 8(%rdi), %rbp
    movq 16(%rdi), %r12
    movq 24(%rdi), %r13
    movq 32(%rdi), %r14
    movq 40(%rdi), %r15
    movq 48(%rdi), %rsp
    subq $8, %rsp
    jmp *%rax
    .size tutti_base_call_from, . - tutti_base_call_from
)");

namespace tutti::base {
namespace {

/// Returns the loaded object that contains an address.
const void* object_of(std::uintptr_t address) noexcept {
    Dl_info found{};
    return ::dladdr(reinterpret_cast<const void*>(address), &found) != 0 ? found.dli_fbase : nullptr;
}
const void* object_with(const char* symbol) noexcept {
    return object_of(reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, symbol)));
}

// DWARF numbers of the callee-saved registers.
constexpr int rbx = 3, rbp = 6, r12 = 12, r13 = 13, r14 = 14, r15 = 15;

struct stack_walk {
    const void* const own = object_of(reinterpret_cast<std::uintptr_t>(&caller_of_noexcept_boundary));
    const void* const language = object_with("__cxa_begin_catch");  // the C++ runtime
    const void* const unwinder = object_with("_Unwind_GetCFA");
    const void* const interceptor = object_with("_Unwind_RaiseException");  // a sanitizer's, or the unwinder's
    enum class stage : std::uint8_t {
        handler,    // this code; the C++ runtime has called it
        terminate,  // the C++ runtime; the boundary, its helper or the unwinder has called it
        helper,     // functions that the boundary has called to end the process
        unwinding,  // the unwinder, and the C++ runtime, which has called the unwinder
        unwound,    // frames that the exception has not left yet
        boundary    // the frame before this one is the boundary
    } at = stage::handler;
    return_point found{};

    /// Returns true if the function of the frame has no landing pad, because it has no table of handlers. Such a
    /// function is no boundary. If such a function has called std::terminate, the boundary may be its caller: Clang's
    /// landing pads call a helper of this kind.
    static bool has_no_landing_pad(struct _Unwind_Context* frame) noexcept {
        return _Unwind_GetLanguageSpecificData(frame) == 0;
    }

    /// Returns true if the frame would catch an exception that one of its calls throws. The test uses a foreign
    /// exception, which only handlers for every type catch. A boundary has no such handler.
    static bool stops_exception(struct _Unwind_Context* frame) noexcept {
        if (has_no_landing_pad(frame)) return false;
        constexpr _Unwind_Exception_Class nobody = 0x5455545449000000;
        struct _Unwind_Exception probe{};
        probe.exception_class = nobody;
        return __gxx_personality_v0(1, _UA_SEARCH_PHASE, nobody, &probe, frame) == _URC_HANDLER_FOUND;
    }

    /// Returns false if the boundary cannot be determined.
    bool is_boundary(struct _Unwind_Context* frame, bool directly) {
        if (!directly && !stops_exception(frame)) return true;
        // A boundary in this library cannot be left, because the library's functions may have been in the middle of
        // their work.
        if (object_of(_Unwind_GetIP(frame)) == own) return false;
        at = stage::boundary;
        return true;
    }

    bool visit_frame(struct _Unwind_Context* frame) noexcept {
        const void* const in = object_of(_Unwind_GetIP(frame) - 1);
        switch (at) {
            case stage::handler:
                if (in == own) return true;
                at = stage::terminate;
                return in == language;
            case stage::terminate:
                if (in == language) return true;
                if (in == unwinder) {
                    at = stage::unwinding;
                    return true;
                }
                at = stage::helper;
                [[fallthrough]];
            case stage::helper: return (in != own && has_no_landing_pad(frame)) || is_boundary(frame, true);
            case stage::unwinding:
                if (in == unwinder || in == language || in == interceptor) return true;
                at = stage::unwound;
                [[fallthrough]];
            case stage::unwound: return is_boundary(frame, false);
            case stage::boundary: break;
        }
        const auto saved_register = [frame](int number) {
            return static_cast<std::uintptr_t>(_Unwind_GetGR(frame, number));
        };
        found = {saved_register(rbx), saved_register(rbp), saved_register(r12),  saved_register(r13),
                 saved_register(r14), saved_register(r15), _Unwind_GetCFA(frame)};
        return false;
    }

    static _Unwind_Reason_Code step(struct _Unwind_Context* frame, void* of) noexcept {
        return static_cast<stack_walk*>(of)->visit_frame(frame) ? _URC_NO_REASON : _URC_NORMAL_STOP;
    }
};

}  // namespace

return_point caller_of_noexcept_boundary() noexcept {
    stack_walk w;
    _Unwind_Backtrace(&stack_walk::step, &w);
    return w.found;
}

void call_from(const return_point& point, void (*throws)()) noexcept {
    if (__asan_handle_no_return != nullptr) __asan_handle_no_return();
    tutti_base_call_from(&point, throws);
}

}  // namespace tutti::base

#else

namespace tutti::base {

return_point caller_of_noexcept_boundary() noexcept { return {}; }
void call_from(const return_point&, void (*)()) noexcept { std::abort(); }

}  // namespace tutti::base

#endif
