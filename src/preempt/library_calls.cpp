#include "preempt/library_calls.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>

#include "preempt/application.hpp"
#include "preempt/code_map.hpp"
#include "preempt/tick_source.hpp"

// Each stub is 32 bytes long, unless the assembler aligns branches. A stub reads its own element of this array.
#define TUTTI_CALL_STUBS 2048
#define TUTTI_TEXT_OF(x) #x
#define TUTTI_TEXT(x) TUTTI_TEXT_OF(x)

extern "C" {
__attribute__((visibility("hidden"), used)) std::uintptr_t tutti_preempt_called[TUTTI_CALL_STUBS] = {};
__attribute__((visibility("hidden"), used)) int tutti_preempt_process = 0;
extern __attribute__((visibility("hidden"))) const char tutti_preempt_call_stubs[];
extern __attribute__((visibility("hidden"))) const char tutti_preempt_tick_here[];  // after the last stub
extern __attribute__((visibility("hidden"))) const char tutti_preempt_call_stubs_end[];
}

static_assert(tutti::preempt::tick_signal == 23, "the number in the assembler code below");
static_assert(sizeof(std::atomic<bool>) == 1, "the assembler below reads a byte");

// Makes two system calls: gettid, and tgkill to that thread of the scheduler's process. The signal arrives before the
// second call returns. If a procedure has forked, the child has a copy of the flag but no such thread, so the child
// gets no tick. The child must not get a tick, because its handler would switch to contexts of the parent. The kernel
// changes rax, rcx and r11. All other registers may hold arguments of the function.
asm(R"(
    .macro tutti_keep register
    pushq %\register
    .cfi_adjust_cfa_offset 8
    .endm
    .macro tutti_take_back register
    popq %\register
    .cfi_adjust_cfa_offset -8
    .endm

    .text
    .p2align 5
    .globl tutti_preempt_call_stubs
    .hidden tutti_preempt_call_stubs
    .type tutti_preempt_call_stubs, @function
tutti_preempt_call_stubs:
    .cfi_startproc
    tutti_stub = 0
    .rept )" TUTTI_TEXT(TUTTI_CALL_STUBS) R"(
    .p2align 5
    endbr64
    movq tutti_preempt_urgent@gottpoff(%rip), %r11
    movq %fs:(%r11), %r11
    cmpb $0, (%r11)
    je 1f
    call tutti_preempt_tick_here
1:  jmpq *(tutti_preempt_called + tutti_stub)(%rip)
    tutti_stub = tutti_stub + 8
    .endr
    .cfi_endproc
    .size tutti_preempt_call_stubs, . - tutti_preempt_call_stubs

    .p2align 5
    .globl tutti_preempt_tick_here
    .hidden tutti_preempt_tick_here
    .type tutti_preempt_tick_here, @function
tutti_preempt_tick_here:
    .cfi_startproc
    tutti_keep rax
    tutti_keep rcx
    tutti_keep rdx
    tutti_keep rsi
    tutti_keep rdi
    movl $186, %eax
    syscall
    movl %eax, %esi
    movl tutti_preempt_process(%rip), %edi
    movl $23, %edx
    movl $234, %eax
    syscall
    tutti_take_back rdi
    tutti_take_back rsi
    tutti_take_back rdx
    tutti_take_back rcx
    tutti_take_back rax
    ret
    .cfi_endproc
    .size tutti_preempt_tick_here, . - tutti_preempt_tick_here
    .globl tutti_preempt_call_stubs_end
    .hidden tutti_preempt_call_stubs_end
tutti_preempt_call_stubs_end:
)");

namespace tutti::preempt {
namespace {

std::mutex guards_stubs;
std::size_t stubs_used = 0;

/// Returns the address of the stub for the function, or zero if no stub is left. REQUIRES: guards_stubs is locked.
std::uintptr_t stub_for(std::uintptr_t function) noexcept {
    auto* const end = tutti_preempt_called + stubs_used;
    auto* const found = std::find(tutti_preempt_called, end, function);
    if (found == end) {
        if (stubs_used == TUTTI_CALL_STUBS) return 0;
        ++stubs_used;
        // The address is stored before any word leads to the stub, so a thread that finds the stub also finds the
        // address.
        std::atomic_ref{*found}.store(function, std::memory_order_release);
    }
    const auto stubs_bytes = static_cast<std::size_t>(tutti_preempt_tick_here - tutti_preempt_call_stubs);
    return call_stubs().begin +
           static_cast<std::size_t>(found - tutti_preempt_called) * (stubs_bytes / TUTTI_CALL_STUBS);
}

/// Returns true if the function is short, and code calls it at each use of a thread-local variable.
bool is_too_frequent(std::string_view name) noexcept { return name == "__tls_get_addr"; }

/// While an object of this class lives, words that the dynamic linker has protected are writable.
class opened {
public:
    explicit opened(loaded_object::range r) noexcept : range_{r} {
        open_ = range_.begin == range_.end || protect(PROT_READ | PROT_WRITE);
    }
    ~opened() {
        if (open_ && range_.begin != range_.end) protect(PROT_READ);
    }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;
    explicit operator bool() const noexcept { return open_; }

private:
    bool protect(int rights) const noexcept {
        return ::mprotect(reinterpret_cast<void*>(range_.begin), range_.end - range_.begin, rights) == 0;
    }
    loaded_object::range range_;
    bool open_;
};

}  // namespace

void tick_in_this_process() noexcept { tutti_preempt_process = ::getpid(); }

loaded_object::range call_stubs() noexcept {
    return {reinterpret_cast<std::uintptr_t>(tutti_preempt_call_stubs),
            reinterpret_cast<std::uintptr_t>(tutti_preempt_call_stubs_end)};
}

void tick_at_library_calls(const loaded_object& of, const std::vector<loaded_object>& all,
                           const code_map& application) {
    const auto leads_elsewhere = [&](const loaded_object::import& i) {
        if (!i.call || is_too_frequent(i.name)) return false;  // other words are data, which AddressSanitizer checks
        const std::uintptr_t function = *i.slot;
        const auto has_it = [&](const loaded_object& o) { return o.contains(function) && is_runtime(o); };
        return !application.contains(function) && !of.contains(function) && !call_stubs().contains(function) &&
               std::ranges::none_of(all, has_it);
    };
    std::vector<loaded_object::import> calls = of.imports();
    std::erase_if(calls, [&](const auto& i) { return !leads_elsewhere(i); });
    if (calls.empty()) return;
    const std::lock_guard guard{guards_stubs};
    // If a sandbox forbids writing, library calls do not check for ticks.
    const opened words{of.read_only_after_relocation()};
    if (!words) return;
    for (const loaded_object::import& i : calls) {
        // Other threads may be making calls through this word. They read either the old address or the new one.
        if (const std::uintptr_t stub = stub_for(*i.slot); stub != 0)
            std::atomic_ref{*i.slot}.store(stub, std::memory_order_release);
    }
}

}  // namespace tutti::preempt
