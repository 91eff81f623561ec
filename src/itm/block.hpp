// Open blocks of the language, and what a descriptor keeps for them.
//
// Every block that can end alone is a frame of the core: the outermost one, and those inside it that can be cancelled
// (true closed nesting) or stand inside a block of the library. Blocks that cannot end alone are part of the innermost
// frame and only counted.
//
//   serial, direct    uninstrumented code may run; barriers access memory as it is, nothing can be rolled back
//   serial, !direct   inside a block that can be cancelled and was opened since, or whose parent is a block of the
//                     library, which can: barriers log
//
// Invariants
//   B1  a frame with `receive` is a block
//   B2  blocks are reused: `deeper` links those of one descriptor, from the outermost inwards
//   B3  what `side` says of a transaction is set at the begin of its outermost block of the language: the one before
//       may have ended with its thread
// Only the owner of the descriptor touches any of this.
#pragma once

#include "api/language.hpp"
#include "itm/abi.hpp"
#include "itm/hardware.hpp"

namespace tutti::itm {

/// How far the exceptions of a context had come when a block began.
struct exception_mark {
    unsigned uncaught;
    unsigned caught;
    std::size_t thrown;
};

struct block : detail::frame {
    registers at{};
    std::uint32_t properties = 0;
    std::uint32_t merged = 0;  ///< blocks inside it that are part of it
    exception_mark exceptions{};
    std::uint64_t id = 0;
    int error = 0;              ///< errno at its begin: the C library writes it without barriers
    bool final = false;         ///< what it did cannot be undone
    bool was_direct = false;    ///< side::direct, around it
    bool logs = false;          ///< it may be taken back, so it has barriers whatever is around it
    bool returned = false;      ///< its begin has, so there are live variables to restore
    bool wants_serial = false;  ///< of an outermost one: its next attempt is serial from its begin on
    block* deeper = nullptr;
};

/// An exception object that a transaction made, or caught.
struct exception_object {
    void* object;
    bool held;  ///< by a reference of the transaction's
};

class journal;
struct switch_key;

/// A call of a library that has transactional clones, for the report: its clone notes it (src/libc/context.hpp).
struct library_call {
    const char* function = nullptr;  ///< a literal
    const void* where = nullptr;     ///< where it returns to, in the program
};

struct side {
    side(descriptor& owner, journal* reports) noexcept : notes{reports}, hardware{owner} {}

    block first;
    block* outermost = &first;  ///< what the next outermost block will be
    journal* notes;             ///< for the report, if one is wanted
    hardware_side hardware;
    const std::atomic<bool>& counting = api::counting();
    bool direct = false;
    const char* why = nullptr;
    library_call call;  ///< the latest; nothing but the report asks for it
    std::uint64_t ids = no_transaction;
    unsigned caught = 0;                   ///< exceptions caught in the transaction and still being handled
    memory::log<exception_object> thrown;  ///< of the transaction's, the latest last
    void* leaving = nullptr;               ///< the exception that is leaving the block whose commit is under way
};

TUTTI_ALWAYS_INLINE descriptor& current() noexcept { return static_cast<descriptor&>(*detail::current_transaction); }
TUTTI_ALWAYS_INLINE side& side_of(const descriptor& d) noexcept { return *static_cast<side*>(d.language); }
/// REQUIRES: the innermost frame is a block.
TUTTI_ALWAYS_INLINE block& innermost(const descriptor& d) noexcept { return *static_cast<block*>(d.frame_); }
inline bool is_block(const detail::frame* f) noexcept { return f != nullptr && f->receive != nullptr; }
/// The first block of the language from `f` on, going outwards.
inline block* next_block(detail::frame* f) noexcept {
    while (f != nullptr && !is_block(f)) f = f->parent;
    return static_cast<block*>(f);
}

/// The block to use inside `b`. Throws std::bad_alloc.
inline block& deeper(block& b) {
    if (b.deeper == nullptr) b.deeper = new block;
    return *b.deeper;
}

/// B3. Uninstrumented code may run if an earlier block of the transaction has made it serial.
inline void begin_anew(side& s, bool direct) noexcept {
    s.direct = direct;
    s.caught = 0;
    s.thrown.clear();
    s.leaving = nullptr;
}

/// The descriptor of the calling context, with a side. Ends the process with a message if memory runs out.
descriptor& attach() noexcept;

/// frame::receive of every block: undoes what the pending signal asks for and returns from a begin again.
[[noreturn]] void receive(tx& t);

/// Makes the transaction serial, for what `key` says to the report. May restart it. `why` lives on.
void run_alone(descriptor& d, const char* why, const switch_key& key);

/// After run_alone, and after a nested block in one that runs alone. Code that is not instrumented may close what the
/// block owns outside of memory, a stream. So the block gives that back, unless a block of the library around it or
/// inside it may still be rolled back: then what it keeps back for the commit takes effect.
inline void own_nothing(descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        if (!is_block(f)) return api::settle_possessions(d);
    }
    api::keep_possessions(d);
}

/// Undoes what exceptions the block had made since `mark`, but for their memory, which goes back with the rest.
void forget_exceptions(descriptor& d, const exception_mark& mark) noexcept;
/// An exception leaves a block of the language for one of the library, which may be rolled back. May leave the frame.
void keep_leaving(descriptor& d);
TUTTI_ALWAYS_INLINE exception_mark mark_exceptions(const descriptor& d) noexcept {
    const side& s = side_of(d);
    return {d.exceptions->uncaught, s.caught, s.thrown.size()};
}

/// "function+0x12 (object)", or as much of it as is known, of the code at `address`.
const char* describe(const void* address, char* into, std::size_t size) noexcept;

}  // namespace tutti::itm

extern "C" {
[[noreturn]] void tutti_itm_return_again(std::uint32_t actions, const tutti::itm::registers* from) noexcept;
/// As _ITM_changeTransactionMode, by the call that `side::call` names, for `why`; the report says what to do `instead`.
/// Both are literals of an object that is never unloaded.
TUTTI_EXPORT __attribute__((weak)) void tutti_itm_run_alone(const char* why, const char* instead);
}
