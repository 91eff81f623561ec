// The functions of the library that the templates of the public headers call, and the inlined barriers.
#pragma once

#include <bit>
#include <cstring>
#include <source_location>

#include "tutti/detail/annotations.hpp"
#include "tutti/tx.hpp"

namespace tutti::detail {

/// The next step of a block after a roll-back.
enum class after_rollback : std::uint8_t { again, cancelled, propagate };

// --- The context's transaction. The variable uses the initial-exec model, because the library is loaded at start-up,
// never by dlopen alone.
extern __thread tx* current_transaction __attribute__((tls_model("initial-exec"))) TUTTI_EXPORT;
/// Makes the calling context's descriptor. Throws std::bad_alloc.
TUTTI_EXPORT tx& attach();
TUTTI_ALWAYS_INLINE tx& current_or_attach() {
    tx* t = current_transaction;
    return t != nullptr ? *t : attach();
}

// --- Outermost blocks. operations::open begins the first attempt. `reopen` follows when the body has unwound or the
// commit has failed. `reopen` runs the compensation, waits as the cause requires, and begins the next attempt or
// returns the reason why there is none. `fail` rolls back because an exception leaves the body.
TUTTI_EXPORT after_rollback reopen(tx& t);
TUTTI_EXPORT void fail(tx& t) noexcept;

// --- Nested blocks.
TUTTI_EXPORT void open_nested(tx& t, frame& f);
TUTTI_EXPORT void close_nested(tx& t, frame& f);
/// Handles an unwind that has reached the block. Rolls the block back if the signal is for this block. May raise
/// another signal.
TUTTI_EXPORT after_rollback reopen_nested(tx& t, frame& f);
TUTTI_EXPORT void fail_nested(tx& t, frame& f) noexcept;
/// For blocks that jump: raises a signal that reopen_nested did not handle. The signal is now for the innermost open
/// block.
[[noreturn]] TUTTI_EXPORT void propagate(tx& t);

// --- Signals.
/// Returns true if the handled exception is a signal of this library. Also returns true if a body threw the exception
/// after it had swallowed a signal: the signal then continues instead of the exception. Never returns true for the
/// forced unwind of a thread that exits.
[[nodiscard]] TUTTI_EXPORT bool signalled(const tx& t) noexcept;
[[noreturn]] TUTTI_EXPORT void raise_retry(tx& t);
/// These two functions return once the time limit at that place is over for this execution of the outermost block.
TUTTI_EXPORT void raise_retry_until(tx& t, std::chrono::steady_clock::time_point when);
TUTTI_EXPORT void raise_retry_for(tx& t, std::chrono::nanoseconds limit, const retry_site& at);
[[noreturn]] TUTTI_EXPORT void raise_restart(tx& t);
[[noreturn]] TUTTI_EXPORT void raise_cancel(tx& t);

// --- Memory of a transaction. The destroyer gets the pointer and frees everything that it must free.
using destroyer = void (*)(void*);
/// Allocates memory that a roll-back frees. If only the block is rolled back, the memory is freed at the end of the
/// transaction, because the logs may refer to it. Throws std::bad_alloc.
TUTTI_EXPORT void* allocate(tx& t, std::size_t bytes, std::size_t alignment);
/// Runs `destroy(object)` after the block is rolled back: at once, or at the end of the outermost block. `destroy` must
/// not free the object's memory. Throws std::bad_alloc, after it has destroyed the object.
TUTTI_EXPORT void on_abort_destroy(tx& t, void* object, destroyer destroy);
/// Runs `destroy(object)` after the transaction has committed, once no running transaction can still see the object.
TUTTI_EXPORT void on_commit_retire(tx& t, void* object, destroyer destroy);
/// Does the same for an object of plain memory. Because its destruction neither touches nor frees a variable,
/// `destroy(object)` may run earlier if the innermost open block has made the object, because no other transaction has
/// seen it.
TUTTI_EXPORT void on_commit_retire_plain(tx& t, void* object, destroyer destroy);
/// Destroys an object that the innermost block has allocated and to which nothing refers. If the object's constructor
/// has thrown, only frees the memory. The memory is freed when the transaction ends. Does nothing while a signal is in
/// flight, because the following roll-back does the same.
TUTTI_EXPORT void abandon(tx& t, void* object) noexcept;
/// Reserves log space. The next `writes` writes of variables, as many reads, and the next `retirements` calls of
/// on_commit_retire then cannot run out of memory. Throws std::bad_alloc; then nothing has changed. So an operation
/// that reserves before its first write takes effect completely or, if it throws, not at all.
TUTTI_EXPORT void reserve(tx& t, std::size_t writes, std::size_t retirements);

/// Abandons the memory of an object under construction, unless `keep` is called.
class unlinked_memory {
public:
    unlinked_memory(tx& t, void* memory) noexcept : t_{t}, memory_{memory} {}
    ~unlinked_memory() {
        if (memory_ != nullptr) abandon(t_, memory_);
    }
    unlinked_memory(const unlinked_memory&) = delete;
    unlinked_memory& operator=(const unlinked_memory&) = delete;
    void keep() noexcept { memory_ = nullptr; }

private:
    tx& t_;
    void* memory_;
};

/// Runs `destroy(object)`, for use in destructors. If this thread runs a transaction, `destroy` runs when the
/// transaction is over, however it ends, because its logs may refer to variables in the object. REQUIRES: no other
/// transaction can reach the object. Leaks the object if memory for the log runs out.
TUTTI_EXPORT void dispose(void* object, destroyer destroy) noexcept;
template <class T>
void dispose(T* object) noexcept {
    if (object != nullptr) dispose(object, [](void* p) { delete static_cast<T*>(p); });
}

/// For destructors that access variables. While the scope lives, no access throws out of the destructor, and no
/// interruption ends a block that the destructor runs. In a transaction that has to restart, reads return the values in
/// memory, and writes are dropped.
class TUTTI_EXPORT destructor_scope {
public:
    destructor_scope();
    ~destructor_scope();
    destructor_scope(const destructor_scope&) = delete;
    destructor_scope& operator=(const destructor_scope&) = delete;

private:
    tx& of_;
    unsigned unwinds_from_;
    bool destroying_;
};

// --- Access to one variable outside a transaction, or as part of the running transaction.
TUTTI_EXPORT word read_alone(const cell& from);
TUTTI_EXPORT void write_alone(cell& to, word value);

/// Access to the private fast-path members of a transaction.
struct access {
    TUTTI_ALWAYS_INLINE static bool running(const tx& t) { return t.frame_ != nullptr; }
    [[nodiscard]] static frame* innermost(const tx& t) noexcept { return t.frame_; }
    static void add(tx& t, handler_point point, std::unique_ptr<handler> h) { t.add(point, std::move(h)); }
    TUTTI_ALWAYS_INLINE static const operations& ops(const tx& t) { return *t.operations_; }
    TUTTI_ALWAYS_INLINE static void open(tx& t, frame& f, site_slot& slot, std::source_location at,
                                         const options& how) {
        if (is_ordinary(how)) [[likely]]
            return ops(t).open_ordinary(t, f, slot, at, how);
        ops(t).open(t, f, slot, at, how);
    }

    /// Returns the data that the body can open without a call to the data participant of t, or null. Only the
    /// participant knows the type of these data.
    TUTTI_ALWAYS_INLINE static layer_data* companion_data(const tx& t) { return t.companion_data_; }
    /// Returns true if `innermost` is t's innermost block, and its attempt logs its reads, is not doomed, and is not
    /// irrevocable.
    TUTTI_ALWAYS_INLINE static bool may_continue_in(const tx& t, const frame* innermost) {
        return t.frame_ == innermost && t.logged_bound_.load(std::memory_order_relaxed) != 0;
    }

    /// Reads a variable. The first comparison serves unlogged read-only transactions, the second one all other
    /// transactions. In every special case both comparisons fail, because the bound is zero or the orec is larger than
    /// any bound. Special cases of the variable are: locked, marked, or newer than the snapshot. Special cases of the
    /// transaction are: absent, doomed, or of another algorithm or mode.
    ///
    /// The function reads the orec before and after the value. Both earlier loads are acquire loads, so the last load
    /// cannot move before them. A writer locks the orec before it stores the value with release. So a reader that sees
    /// the value also sees the lock.
    TUTTI_ALWAYS_INLINE static word read(tx& t, const cell& from) {
        annotate::cell_at(&from, sizeof from);
        const word value = read_unannotated(t, from);
        annotate::acquire(&from);
        return value;
    }
    TUTTI_ALWAYS_INLINE static word read_unannotated(tx& t, const cell& from) {
        const word before = from.orec.load(std::memory_order_acquire);
        const word value = from.value.load(std::memory_order_acquire);
        if (before < t.unlogged_bound_.load(std::memory_order_relaxed)) [[likely]] {
            if (from.orec.load(std::memory_order_relaxed) == before) [[likely]]
                return value;
        } else if (is_logged(t, before) && t.read_next_ != t.read_end_) [[likely]] {
            if (from.orec.load(std::memory_order_relaxed) == before) [[likely]] {
                *t.read_next_++ = &from.orec;
                return value;
            }
        }
        return t.operations_->read(t, from);
    }

    /// Returns true if a read is valid once it is logged, where `before` is the orec's value. This holds if the orec
    /// has a version of the snapshot. It also holds for a version of the context's own that the clock has not reached.
    /// There is one such version: the sum of the bound and the context's number. Its time is the one after the
    /// snapshot's time. A bound of zero admits neither case, because no version has time 0 and a writer.
    TUTTI_ALWAYS_INLINE static bool is_logged(const tx& t, word before) {
        const word bound = t.logged_bound_.load(std::memory_order_relaxed);
        return before < bound || before - bound == t.own_writer_;
    }

    /// Writes a variable by the rules of the transaction's algorithm.
    TUTTI_ALWAYS_INLINE static void write(tx& t, cell& to, word value) {
        annotate::release(&to);
        t.operations_->write(t, to, value);
    }
};

template <class T>
TUTTI_ALWAYS_INLINE word to_word(const T& value) noexcept {
    word w = 0;
    std::memcpy(&w, static_cast<const void*>(&value), sizeof(T));
    return w;
}

// This is not TUTTI_ALWAYS_INLINE, because GCC does not inline it into some functions with blocks of the language.
template <class T>
inline T from_word(word w) noexcept {
    struct bytes {
        unsigned char at[sizeof(T)];
    } raw;
    std::memcpy(raw.at, &w, sizeof(T));
    return std::bit_cast<std::remove_const_t<T>>(raw);
}

}  // namespace tutti::detail
