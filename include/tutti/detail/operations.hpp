// The seam between the inlined barriers and the runtime: the table through which a transaction reaches the chosen
// algorithm, and the blocks that are open on its stack.
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
struct call_site;

/// One algorithm as the barriers see it. `src/algorithms/table.cpp` holds the instances.
///
/// read, write, load and store may leave by an unwind (restart) or a usage_error; commit never does so for a restart,
/// and open only for one of the transaction around it. REQUIRES for all but open: a block is open on `t`.
struct operations {
    /// Opens the outermost block and begins its first attempt.
    void (*open)(tx& t, frame& f, call_site where, const options& how);
    /// True when committed. False: rolled back, `reopen` decides what follows.
    bool (*commit)(tx& t);
    word (*read)(tx& t, const cell& from);
    void (*write)(tx& t, cell& to, word value);
    /// `bytes` is 1, 2, 4 or 8 and `from` is aligned to it; the value comes zero-extended.
    word (*load)(tx& t, const void* from, unsigned bytes);
    void (*store)(tx& t, void* to, unsigned bytes, word value);
};

/// Where the logs stood when a nested block opened.
struct savepoint {
    std::size_t writes;
    std::size_t overwritten;
    std::size_t deferred;
    std::size_t reads;
    std::uint32_t waits;  // calls of retry_for
};

/// Where a retry_for is in the source; in C, where it returns to.
struct retry_place {
    const void* of = nullptr;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool operator==(const retry_place&) const = default;
};

/// An open atomic block: one on the stack of every `atomically`, linked innermost first.
struct frame {
    frame* parent = nullptr;
    /// Jumps to where the block's target was set (jump.hpp); null when a signal unwinds, which runs the destructors of
    /// the body's locals.
    void (*jump)(frame& to) = nullptr;
    /// A block of the language: what a signal calls in the place of a jump or an unwind. It does not return, and may be
    /// called while exceptions are in flight. Such a block uses plain memory from its begin on.
    void (*receive)(tx& t) = nullptr;
    /// The stack pointer of the function that opened the block: frames below it are gone when the block has been rolled
    /// back. 0: not known.
    std::uintptr_t stack = 0;
    /// An alternative of or_else: the frame that a `retry` inside it leaves to.
    bool alternative = false;
    /// The block, or one around it, promised to write nothing. A nested block sets its own promise before it opens.
    bool read_only = false;
    /// `read_only` is the promise of a flat block inside, which ends with that block, or when this one runs again.
    bool read_only_in_part = false;
    /// The rest of a transaction from a checkpoint on: its reads are validated before it closes.
    bool checkpoint = false;
    /// The signal that was on its way through a destructor when the nested block opened in it, and its cause; 0: none.
    std::uint8_t passing = 0;
    std::uint8_t passing_cause = 0;
    /// A block of the C interface: where an error's code is left before jumping to it. Null: errors are exceptions.
    int* failure = nullptr;
    /// How many entries the block's part of the log of what is put off had left when the engine last looked there for
    /// objects that the block has made and replaced; see src/core/rollback/replaced.hpp.
    std::size_t left_when_looked = 0;
    savepoint mark;  // set when a nested block opens; an outermost one, whose marks would all be 0, has none
};

/// Identity of an `atomically` in the source: a static of that call. The site is looked up at the first use that needs
/// it. A block of the C interface says here where it is (tutti_site), one of C++ in the call_site.
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
