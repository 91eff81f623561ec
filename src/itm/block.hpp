// The open blocks of the language, and the state that a descriptor has for them.
//
// Each block that can end on its own is a frame of the core: the outermost block, blocks inside it that can be
// cancelled (true closed nesting), and blocks inside a block of the library. All other blocks are part of the innermost
// frame, which only counts them.
//
//   serial, direct    uninstrumented code may run; barriers access memory directly, nothing can be rolled back
//   serial, !direct   barriers log, because a block may be cancelled: the innermost block, or its parent, if the parent
//                     is a block of the library. The innermost block was opened after the transaction became serial
//
// Invariants
//   BLK1  a frame with `receive` is a block
//   BLK2  block objects are reused: `inner` links those of one descriptor, from the outermost inwards
//   BLK3  the state of a transaction in `runtime_state` is set at the start of its outermost block of the language,
//         because the previous transaction may have ended with its thread, without resetting the state
// Only the owner of the descriptor accesses this state.
#pragma once

#include "api/hooks/language.hpp"
#include "itm/abi.hpp"
#include "itm/hardware.hpp"

namespace tutti::itm {

/// A context's exceptions at the start of a block.
struct exception_mark {
    unsigned uncaught;
    unsigned caught;
    std::size_t thrown;
};

struct block : detail::frame {
    registers saved{};
    std::uint32_t properties = 0;
    std::uint32_t merged = 0;  ///< number of blocks inside this one that are merged with it
    exception_mark exceptions{};
    std::uint64_t id = 0;
    int error = 0;              ///< errno when the block began: the C library writes errno without barriers
    bool final = false;         ///< the effects of the block cannot be undone
    bool was_direct = false;    ///< value of runtime_state::direct outside of the block
    bool logs = false;          ///< the block may be rolled back, so it always uses barriers
    bool returned = false;      ///< begin has returned once, so a second return has to restore live variables
    bool wants_serial = false;  ///< in an outermost block: its next attempt is serial from its start
    block* inner = nullptr;
};

/// An exception object that a transaction has created or caught.
struct exception_object {
    void* object;
    bool held;  ///< the transaction holds a reference to it
};

class block_counters;
struct switch_key;

/// A call of a library that has transactional clones. The clone records the call for the report (src/libc/context.hpp).
struct library_call {
    const char* function = nullptr;  ///< a literal
    const void* where = nullptr;     ///< the call's return address in the program
};

struct runtime_state : detail::layer_data {
    static constexpr core::layer of_layer = core::layer::language;

    runtime_state(descriptor& owner, block_counters* counters_or_null) noexcept
        : counters{counters_or_null}, hardware{owner} {}

    block first;
    block* outermost = &first;  ///< the object for the next outermost block
    block_counters* counters;   ///< counters for the report; null if the user wants no report
    hardware_context hardware;
    const std::atomic<bool>& counting = api::counting();
    bool direct = false;
    const char* serial_reason = nullptr;
    library_call latest_call;  ///< the latest call, which only the report uses
    std::uint64_t latest_id = no_transaction;
    unsigned caught = 0;                   ///< number of exceptions that the transaction has caught and still handles
    memory::log<exception_object> thrown;  ///< exceptions that the transaction has created or caught, latest last
    void* leaving_exception = nullptr;     ///< the exception that leaves the block whose commit is in progress
};

TUTTI_ALWAYS_INLINE descriptor& current() noexcept { return static_cast<descriptor&>(*detail::current_transaction); }
/// Returns true if a block of the language has begun on d, or is beginning.
TUTTI_ALWAYS_INLINE bool has_runtime_state(const descriptor& d) noexcept {
    return d.has_data_of(core::layer::language);
}
/// REQUIRES: has_runtime_state(d).
TUTTI_ALWAYS_INLINE runtime_state& runtime_state_of(const descriptor& d) noexcept {
    return *d.data_of_layer<runtime_state>();
}
/// REQUIRES: the innermost frame is a block.
TUTTI_ALWAYS_INLINE block& innermost(const descriptor& d) noexcept { return *static_cast<block*>(d.frame_); }
inline bool is_block(const detail::frame* f) noexcept { return f != nullptr && f->receive != nullptr; }
/// Returns `f` or the first frame around `f` that is a block of the language.
inline block* next_block(detail::frame* f) noexcept {
    while (f != nullptr && !is_block(f)) f = f->parent;
    return static_cast<block*>(f);
}

/// Returns the block object for a block directly inside `b`. Throws std::bad_alloc.
inline block& inner_block(block& b) {
    if (b.inner == nullptr) b.inner = new block;
    return *b.inner;
}

/// Sets the state of a new transaction (BLK3). If `direct`, uninstrumented code may run, because an earlier block has
/// made the transaction serial.
inline void reset_for_transaction(runtime_state& s, bool direct) noexcept {
    s.direct = direct;
    s.caught = 0;
    s.thrown.clear();
    s.leaving_exception = nullptr;
}

/// Returns the descriptor of the calling context, with its runtime state. Ends the process with a message if memory
/// runs out.
descriptor& attach() noexcept;

/// The `frame::receive` function of every block. Undoes the part of the transaction that the pending signal selects.
/// Then makes the begin of a block return again.
[[noreturn]] void receive_signal(tx& t);

/// Makes the transaction serial. The report shows the reason in `key`. May restart the transaction. `why` must stay
/// valid.
void run_alone(descriptor& d, const char* why, const switch_key& key);

/// Releases the block's resources outside of memory, such as streams, because code without barriers may close them. But
/// if a block of the library is open, it may still be rolled back. In this case, the function makes effects that wait
/// for the commit happen now, and keeps the resources. Call this after run_alone, and after a nested block in a
/// transaction that runs alone.
inline void release_resources(descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        if (!is_block(f)) return api::make_resources_effective(d);
    }
    api::release_owned_resources(d);
}

/// Undoes the block's changes to exceptions since `mark`. The memory of the exceptions is freed by the log of handlers.
void forget_exceptions(descriptor& d, const exception_mark& mark) noexcept;
/// Records that an exception leaves a block of the language for a block of the library that may be rolled back. May
/// leave the frame.
void hold_leaving_exception(descriptor& d);
TUTTI_ALWAYS_INLINE exception_mark mark_exceptions(const descriptor& d) noexcept {
    const runtime_state& s = runtime_state_of(d);
    return {d.exceptions->uncaught, s.caught, s.thrown.size()};
}

/// Describes the code at `address` as "function+0x12 (object)". Omits the parts that are unknown.
const char* describe(const void* address, char* into, std::size_t size) noexcept;

}  // namespace tutti::itm

extern "C" {
[[noreturn]] void tutti_itm_return_again(std::uint32_t actions, const tutti::itm::registers* from) noexcept;
/// Switches the transaction like _ITM_changeTransactionMode, because of the call in `runtime_state::latest_call` and
/// for the reason `why`. `instead` is the report's advice to the user. Both strings are literals of an object that is
/// never unloaded.
TUTTI_EXPORT __attribute__((weak)) void tutti_itm_run_alone(const char* why, const char* instead);
}
