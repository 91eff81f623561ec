// The interface between the inlined barriers and the runtime. It consists of the table through which a transaction
// calls the chosen algorithm, and of the blocks that are open on the transaction's stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "tutti/detail/cell.hpp"

namespace tutti {
class tx;
struct options;
}  // namespace tutti

namespace tutti::detail {

struct frame;
struct site_slot;

/// The functions of one algorithm that the barriers call. `src/algorithms/table.cpp` holds the instances.
///
/// The functions read, write, load and store may throw usage_error, or unwind the stack to restart the block. The
/// function commit never unwinds for a restart. The functions open and open_ordinary unwind for a restart only if the
/// transaction around them restarts. REQUIRES for all other functions: a block is open on `t`.
struct operations {
    /// Opens the outermost block with any options, and begins its first attempt.
    void (*open)(tx& t, frame& f, site_slot& slot, std::source_location at, const options& how);
    /// Opens the outermost block and begins its first attempt, faster than `open`. REQUIRES: is_ordinary(how).
    void (*open_ordinary)(tx& t, frame& f, site_slot& slot, std::source_location at, const options& how);
    /// Returns true if the block has committed. Returns false if it was rolled back: `reopen` then decides how to
    /// continue.
    bool (*commit)(tx& t);
    word (*read)(tx& t, const cell& from);
    void (*write)(tx& t, cell& to, word value);
    /// Loads a value of 1, 2, 4 or 8 `bytes`, zero-extended. REQUIRES: `from` is aligned to `bytes`.
    word (*load)(tx& t, const void* from, unsigned bytes);
    void (*store)(tx& t, void* to, unsigned bytes, word value);
};

/// The positions in the logs when a nested block opened.
struct savepoint {
    std::size_t writes;
    std::size_t overwritten;
    std::size_t deferred;
    std::size_t reads;
    std::uint32_t waits;  // calls of retry_for
};

/// The place of a retry_for in the source; in C, its return address.
struct retry_site {
    const void* of = nullptr;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool operator==(const retry_site&) const = default;
};

/// An open atomic block. Every `atomically` has one on its stack, and each is linked to the block around it.
struct frame {
    frame* parent = nullptr;
    /// Jumps to the block's target (jump.hpp). Null: a signal unwinds the stack, and so runs the destructors of the
    /// body's locals.
    void (*jump)(frame& to) = nullptr;
    /// The function that a signal calls, instead of a jump or an unwind, if this is a block of the language. The
    /// function does not return, and may be called while exceptions are in flight. A block of the language counts as a
    /// user of plain memory from the beginning.
    void (*receive)(tx& t) = nullptr;
    /// In a block of the C interface: the place for an error's code, which is stored before the jump to the block.
    /// Null: errors are exceptions.
    int* failure = nullptr;
    /// The number of entries that remained in the block's part of the deferred log after the engine's last search. The
    /// engine searches for objects that the block has made and replaced: see src/core/rollback/replaced.hpp.
    std::size_t left_when_looked = 0;
    // The following members fill one word, so that one store sets them all.
    /// The block is an alternative of or_else: a `retry` inside the block ends the block and continues at this frame.
    bool alternative = false;
    /// The block, or a block around it, promised to write nothing. A nested block sets its own promise before it opens.
    bool read_only = false;
    /// The promise in `read_only` is that of a flat block inside this one. The promise ends with the flat block, or
    /// when this block runs again.
    bool read_only_by_flat_block = false;
    /// The block is the rest of a transaction after a checkpoint, so its reads are validated before the block closes.
    bool checkpoint = false;
    /// The signal, and its cause, that was passing through a destructor when the nested block opened in this
    /// destructor. 0: no signal.
    std::uint16_t passing = 0;
    std::uint16_t passing_cause = 0;
    /// The stack pointer of the function that opened the block. That function stores the pointer here. Frames below it
    /// are gone once the block has rolled back. 0: unknown.
    std::uintptr_t stack = 0;
    savepoint mark;  // set when a nested block opens; an outermost block has none, because its positions would all be 0
};

/// The identity of an `atomically` in the source: a static variable of that call. The library looks the site up at the
/// first use that needs it. A block of the C interface stores its place here (tutti_site), and a block of C++ in the
/// call_site.
struct site_slot {
    std::atomic<void*> site{nullptr};
    const char* file = nullptr;
    const char* function = nullptr;
    unsigned line = 0;
};

struct call_site {
    site_slot* slot = nullptr;
    std::source_location at;
};

}  // namespace tutti::detail
