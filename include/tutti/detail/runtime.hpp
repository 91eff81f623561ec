// What the templates of the public headers call in the library, and the inlined barriers themselves.
#pragma once

#include <bit>
#include <cstring>
#include <source_location>

#include "tutti/detail/annotations.hpp"
#include "tutti/tx.hpp"

namespace tutti::detail {

/// What a block does after it was rolled back.
enum class sequel : std::uint8_t { again, cancelled, propagate };

// --- The context's transaction. Initial-exec: the library is loaded at start-up, never by dlopen alone.
extern __thread tx* current_transaction __attribute__((tls_model("initial-exec"))) TUTTI_EXPORT;
/// Makes the calling context's descriptor. Throws std::bad_alloc.
TUTTI_EXPORT tx& attach();
TUTTI_ALWAYS_INLINE tx& current_or_attach() {
    tx* t = current_transaction;
    return t != nullptr ? *t : attach();
}

// --- Outermost blocks. operations::open begins the first attempt; `reopen`, after the body unwound or the commit
// failed, runs the compensation, waits as the cause asks, and begins the next one or says why not; `fail` rolls back
// for an exception that is leaving.
TUTTI_EXPORT sequel reopen(tx& t);
TUTTI_EXPORT void fail(tx& t) noexcept;

// --- Blocks inside a block.
TUTTI_EXPORT void open_nested(tx& t, frame& f);
TUTTI_EXPORT void close_nested(tx& t, frame& f);
/// After an unwind reached the block: rolls it back if the signal is its own. May send another one on.
TUTTI_EXPORT sequel reopen_nested(tx& t, frame& f);
TUTTI_EXPORT void fail_nested(tx& t, frame& f) noexcept;
/// For blocks that jump: sends a signal that reopen_nested would not keep on to what is now the innermost block.
[[noreturn]] TUTTI_EXPORT void propagate(tx& t);

// --- Signals.
/// Whether the exception being handled is a signal of ours, or was thrown by a body that had swallowed one: then the
/// signal goes on, not the exception. Never true for the forced unwind of a thread that exits.
[[nodiscard]] TUTTI_EXPORT bool signalled(const tx& t) noexcept;
[[noreturn]] TUTTI_EXPORT void raise_retry(tx& t);
/// Returns once `limit` has been waited out at that place by this execution of the outermost block.
TUTTI_EXPORT void raise_retry_until(tx& t, std::chrono::steady_clock::time_point when);
TUTTI_EXPORT void raise_retry_for(tx& t, std::chrono::nanoseconds limit, const retry_place& at);
[[noreturn]] TUTTI_EXPORT void raise_restart(tx& t);
[[noreturn]] TUTTI_EXPORT void raise_cancel(tx& t);

// --- Memory of a transaction. The destroyer gets the pointer and frees what it must.
using destroyer = void (*)(void*);
/// Memory that goes back if the transaction is rolled back, or at its end if only the block was: what was read of it
/// stays in the logs. Throws std::bad_alloc.
TUTTI_EXPORT void* allocate(tx& t, std::size_t bytes, std::size_t alignment);
/// `destroy(object)` runs after the block is rolled back: at once, or at the end of the outermost block. It must not
/// free the object's memory. Throws std::bad_alloc, and then has destroyed it.
TUTTI_EXPORT void on_abort_destroy(tx& t, void* object, destroyer destroy);
/// `destroy(object)` runs once the transaction has committed and no running transaction can still see it.
TUTTI_EXPORT void on_commit_retire(tx& t, void* object, destroyer destroy);
/// The same for an object of plain memory: its destruction neither touches nor frees a variable. So `destroy(object)`
/// may run before the end if the innermost open block has made the object: then nobody else has ever seen it.
TUTTI_EXPORT void on_commit_retire_plain(tx& t, void* object, destroyer destroy);
/// Destroys an object, or the memory for one whose constructor has thrown, which the innermost block has allocated and
/// nothing refers to. Its memory goes back when the transaction ends. Does nothing while a signal passes, because the
/// roll-back that follows does the same.
TUTTI_EXPORT void abandon(tx& t, void* object) noexcept;
/// Makes room in the logs: the next `writes` writes of variables and the next `retirements` calls of on_commit_retire
/// do not run out of memory, nor do as many reads. Throws std::bad_alloc, and then nothing has changed. So an operation
/// that reserves before its first write takes effect as a whole or, where it throws, not at all.
TUTTI_EXPORT void reserve(tx& t, std::size_t writes, std::size_t retirements);

/// Abandons memory whose object is being constructed, unless told to keep it.
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

/// For destructors: `destroy(object)` runs now, or, where this thread runs a transaction, when that is over, however it
/// ends: its logs may name variables in the object. REQUIRES: no other transaction can reach the object. Leaks it where
/// memory for the log runs out.
TUTTI_EXPORT void dispose(void* object, destroyer destroy) noexcept;
template <class T>
void dispose(T* object) noexcept {
    if (object != nullptr) dispose(object, [](void* p) { delete static_cast<T*>(p); });
}

/// In a destructor that accesses variables, while it lives: no access leaves the destructor, and no interruption ends a
/// block that it runs. In a transaction that has to start over, reads are answered from memory and writes are dropped.
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

// --- One variable outside a transaction (or as part of the running one).
TUTTI_EXPORT word read_alone(const cell& from);
TUTTI_EXPORT void write_alone(cell& to, word value);

/// The door to the hot fields.
struct access {
    TUTTI_ALWAYS_INLINE static bool running(const tx& t) { return t.frame_ != nullptr; }
    [[nodiscard]] static frame* innermost(const tx& t) noexcept { return t.frame_; }
    static void add(tx& t, handler_point point, std::unique_ptr<handler> h) { t.add(point, std::move(h)); }
    TUTTI_ALWAYS_INLINE static const operations& ops(const tx& t) { return *t.operations_; }

    /// What a companion lets the body of t's attempt open without a call, or null; the companion knows what that is.
    TUTTI_ALWAYS_INLINE static void* at_hand(const tx& t) { return t.at_hand_; }
    /// Whether that block is the innermost one of an attempt that logs its reads, is healthy, and not irrevocable.
    TUTTI_ALWAYS_INLINE static bool is_undisturbed(const tx& t, const frame* innermost) {
        return t.frame_ == innermost && t.logged_bound_.load(std::memory_order_relaxed) != 0;
    }

    /// Reads a variable. The first comparison serves unlogged read-only transactions, the second all others; whatever
    /// is special (locked, marked, newer than the snapshot, not in a transaction, another algorithm or mode, doomed)
    /// fails both, because its bound is zero or its orec is larger than any bound.
    ///
    /// The orec is read before and after the value. Both earlier loads are acquire, so the last one cannot move up;
    /// a writer locks the orec before it stores the value with release: a reader that sees the value sees the lock.
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

    /// Whether a read under an orec that reads `before` is good once it is logged: it holds a version of the snapshot,
    /// or one of the context's own that the clock has not reached. There is one such, of the time after the snapshot's,
    /// which is where the bound stands. Zero admits neither: no version has time 0 and a writer.
    TUTTI_ALWAYS_INLINE static bool is_logged(const tx& t, word before) {
        const word bound = t.logged_bound_.load(std::memory_order_relaxed);
        return before < bound || before - bound == t.own_writer_;
    }

    /// Writes a variable; in memory that this very block allocated, directly.
    TUTTI_ALWAYS_INLINE static void write(tx& t, cell& to, word value) {
        annotate::release(&to);
        if (reinterpret_cast<std::uintptr_t>(&to) - t.captured_begin_ < t.captured_size_) {
            to.value.reset(value);
        } else {
            t.operations_->write(t, to, value);
        }
    }
    /// The same without the short cut: for a value that owns memory, which roll-back has to see.
    TUTTI_ALWAYS_INLINE static void write_owning(tx& t, cell& to, word value) {
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

// Not TUTTI_ALWAYS_INLINE: GCC does not inline it into some functions with blocks of the language.
template <class T>
inline T from_word(word w) noexcept {
    struct bytes {
        unsigned char at[sizeof(T)];
    } raw;
    std::memcpy(raw.at, &w, sizeof(T));
    return std::bit_cast<std::remove_const_t<T>>(raw);
}

}  // namespace tutti::detail
