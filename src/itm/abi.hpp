// Numbers and function signatures of the ABI between GCC and the transactional runtime, as the compiler uses them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"

namespace tutti::itm {

/// Properties of a block. The compiler passes them to _ITM_beginTransaction.
enum property : std::uint32_t {
    instrumented_code = 0x1,
    uninstrumented_code = 0x2,
    has_no_cancel = 0x8,
    does_go_irrevocable = 0x40,
};

/// Actions that _ITM_beginTransaction requests of the compiled code.
enum action : std::uint32_t {
    run_instrumented = 0x1,
    run_uninstrumented = 0x2,
    save_live_variables = 0x4,
    restore_live_variables = 0x8,
    leave_block = 0x10,
};

/// Reasons why a block is left early.
enum reason : std::uint32_t { user_cancel = 1, user_retry = 2, conflict = 4, outer_cancel = 16 };

enum state : std::uint32_t { outside = 0, retryable = 1, irrevocable = 2 };

inline constexpr std::uint64_t no_transaction = 1;

/// The registers that a begin saves, so that it can return a second time. begin_x86_64.S depends on the layout.
struct registers {
    void* frame;  ///< the stack pointer after begin has returned
    void* rbx;
    void* rbp;
    void* r12;
    void* r13;
    void* r14;
    void* r15;
    void* resume;
    std::uint64_t shadow;  ///< the shadow stack pointer, or 0
};

}  // namespace tutti::itm

/// Marks an entry of the ABI. The function must not throw, because compiled code does not expect exceptions. Only
/// _ITM_cxa_throw may throw.
#define TUTTI_ITM extern "C" TUTTI_EXPORT
