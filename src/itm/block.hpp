// Open blocks of the language, and the state that a descriptor keeps for them.
//
// Every block that can end alone is a frame of the core: the outermost block, blocks inside it that can be cancelled
// (true closed nesting), and blocks inside a block of the library. All other blocks belong to the innermost frame and
// are only counted.
//
//   serial, direct    uninstrumented code may run; barriers access memory directly, nothing can be rolled back
//   serial, !direct   inside a block that can be cancelled and was opened since, or whose parent is a block of the
//                     library, which can: barriers log
//
// Invariants
//   BLK1  a frame with `receive` is a block
//   BLK2  blocks are reused: `inner` links those of one descriptor, from the outermost inwards
//   BLK3  the state of a transaction in `runtime_state` is set at the begin of its outermost block of the language: the
//         previous transaction may have ended with its thread
// Only the owner of the descriptor accesses this state.
#pragma once

#include "api/hooks/language.hpp"
#include "itm/abi.hpp"
#include "itm/hardware.hpp"

namespace tutti::itm {

/// The state of a context's exceptions when a block began.
struct exception_mark {
    unsigned uncaught;
    unsigned caught;
    std::size_t thrown;
};

struct block : detail::frame {
    registers saved{};
    std::uint32_t properties = 0;
    std::uint32_t merged = 0;  ///< blocks inside this one that are merged with it
    exception_mark exceptions{};
    std::uint64_t id = 0;
    int error = 0;              ///< errno at its begin: the C library writes it without barriers
    bool final = false;         ///< its effects cannot be undone
    bool was_direct = false;    ///< value of runtime_state::direct outside of the block
    bool logs = false;          ///< may be rolled back, so it always uses barriers
    bool returned = false;      ///< its begin has returned, so live variables have to be restored
    bool wants_serial = false;  ///< in an outermost block: its next attempt is serial from the begin on
    block* inner = nullptr;
};

/// An exception object that a transaction has created or caught.
struct exception_object {
    void* object;
    bool held;  ///< the transaction holds a reference to it
};

class block_counters;
struct switch_key;

/// A call of a library that has transactional clones, recorded by the clone for the report (src/libc/context.hpp).
struct library_call {
    const char* function = nullptr;  ///< a literal
    const void* where = nullptr;     ///< its return address in the program
};

struct runtime_state {
    runtime_state(descriptor& owner, block_counters* counters_or_null) noexcept
        : counters{counters_or_null}, hardware{owner} {}

    block first;
    block* outermost = &first;  ///< the block to use as the next outermost one
    block_counters* counters;   ///< for the report, if the user wants one
    hardware_context hardware;
    const std::atomic<bool>& counting = api::counting();
    bool direct = false;
    const char* serial_reason = nullptr;
    library_call latest_call;  ///< the latest call; only the report uses it
    std::uint64_t latest_id = no_transaction;
    unsigned caught = 0;                   ///< exceptions caught in the transaction and still being handled
    memory::log<exception_object> thrown;  ///< exceptions of the transaction, the latest last
    void* leaving_exception = nullptr;     ///< the exception that leaves the block whose commit is in progress
};

TUTTI_ALWAYS_INLINE descriptor& current() noexcept { return static_cast<descriptor&>(*detail::current_transaction); }
TUTTI_ALWAYS_INLINE runtime_state& runtime_state_of(const descriptor& d) noexcept {
    return *static_cast<runtime_state*>(d.language);
}
/// REQUIRES: the innermost frame is a block.
TUTTI_ALWAYS_INLINE block& innermost(const descriptor& d) noexcept { return *static_cast<block*>(d.frame_); }
inline bool is_block(const detail::frame* f) noexcept { return f != nullptr && f->receive != nullptr; }
/// Returns the first block of the language from `f` on, going outwards.
inline block* next_block(detail::frame* f) noexcept {
    while (f != nullptr && !is_block(f)) f = f->parent;
    return static_cast<block*>(f);
}

/// Returns the block to use inside `b`. Throws std::bad_alloc.
inline block& inner_block(block& b) {
    if (b.inner == nullptr) b.inner = new block;
    return *b.inner;
}

/// BLK3. `direct`: uninstrumented code may run, because an earlier block has made the transaction serial.
inline void reset_for_transaction(runtime_state& s, bool direct) noexcept {
    s.direct = direct;
    s.caught = 0;
    s.thrown.clear();
    s.leaving_exception = nullptr;
}

/// Returns the descriptor of the calling context, with its runtime state. Ends the process with a message if memory
/// runs out.
descriptor& attach() noexcept;

/// The frame::receive of every block: undoes the part of the transaction that the pending signal selects, then returns
/// from a begin again.
[[noreturn]] void receive_signal(tx& t);

/// Makes the transaction serial, for the reason that `key` gives to the report. May restart it. `why` must stay valid.
void run_alone(descriptor& d, const char* why, const switch_key& key);

/// To be called after run_alone, and after a nested block in a transaction that runs alone. Code without barriers may
/// close a resource outside of memory that the block owns, such as a stream. So the block releases its resources. If a
/// block of the library around it or inside it may still be rolled back, it settles them instead: effects that wait for
/// the commit happen now.
inline void release_resources(descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        if (!is_block(f)) return api::make_resources_effective(d);
    }
    api::release_owned_resources(d);
}

/// Undoes the block's changes to exceptions since `mark`, except for their memory, which the log of handlers frees.
void forget_exceptions(descriptor& d, const exception_mark& mark) noexcept;
/// Records that an exception leaves a block of the language for a block of the library, which may be rolled back. May
/// leave the frame.
void hold_leaving_exception(descriptor& d);
TUTTI_ALWAYS_INLINE exception_mark mark_exceptions(const descriptor& d) noexcept {
    const runtime_state& s = runtime_state_of(d);
    return {d.exceptions->uncaught, s.caught, s.thrown.size()};
}

/// Describes the code at `address` as "function+0x12 (object)". Leaves out unknown parts.
const char* describe(const void* address, char* into, std::size_t size) noexcept;

}  // namespace tutti::itm

extern "C" {
[[noreturn]] void tutti_itm_return_again(std::uint32_t actions, const tutti::itm::registers* from) noexcept;
/// Works like _ITM_changeTransactionMode, for the call in `runtime_state::latest_call` and the reason `why`. The report
/// tells the user what to do `instead`. Both are literals of an object that is never unloaded.
TUTTI_EXPORT __attribute__((weak)) void tutti_itm_run_alone(const char* why, const char* instead);
}
