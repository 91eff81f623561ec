// Reclamation: retired objects stay in a limbo until no running transaction can still access them.
//
// Objects are collected in batches. Sealing a batch begins with a heavy fence, which makes every earlier begin visible
// (begin itself stores its state without a fence). Then the limbo records the states of all running transactions. The
// batch may be destroyed when each of these transactions is over. A transaction that begins after the fence cannot
// reach the objects, because the commit that unlinked them was published before they were retired.
//
// A long or suspended transaction delays its batch, but never the progress of other transactions.
//
// Thread safety: each descriptor has one limbo, used by its owner. A context that ends moves objects that it cannot
// destroy yet to an orphaned limbo, which all contexts share. The orphaned limbo has its own lock, and the collections
// of other contexts empty it.
//
// One other thread, the drainer, may empty a limbo: the thread that destroys all retired objects
// (core/lifecycle/retired.cpp). Owner and drainer exclude each other by an asymmetric lock, because the owner uses the
// lock for each object, but the drainer rarely does:
//
//   owner:    owner_inside = 1; if `drain_requested` is set: owner_inside = 0, waits, and tries again
//   drainer:  drain_requested = 1; heavy_fence; waits until owner_inside == 0; empties the limbo; drain_requested = 0
//
// By the guarantee of base/fence.hpp, at least one of owner and drainer sees the other's store. No user code runs while
// either is inside.
#pragma once

#include "memory/log.hpp"
#include "memory/status_record.hpp"

namespace tutti::memory {

struct retired {
    void* object;
    void (*destroy)(void*);
};

class limbo {
public:
    /// The number of objects per batch. Sealing costs a fence of some 2 us, which these objects share.
#if defined(TUTTI_INTERLEAVE)
    static constexpr std::size_t batch = 1;  // the programs of the interleaving tests are short
#else
    static constexpr std::size_t batch = 256;
#endif

    /// Makes room so that `more` calls of `retire` cannot fail. Throws std::bad_alloc.
    void reserve(std::size_t more) {
        const owner_lock held{*this};
        open_.reserve(more);
    }
    /// Adds a retired object. REQUIRES: room was reserved, and the commit that made the object unreachable is
    /// published. `drain_to` removes objects, but keeps reserved room.
    void retire(const retired& r) noexcept {
        const owner_lock held{*this};
        open_.push_reserved(r);
    }

    /// Does what retire does, and makes collections due until no object is left.
    void retire_soon(const retired& r) noexcept {
        retire(r);
        is_urgent_ = true;
        next_collection_size_ = 0;
    }

    [[nodiscard]] bool is_due() noexcept {
        const owner_lock held{*this};
        return open_.size() >= next_collection_size_;
    }
    /// Destroys objects that no transaction, except that of `self`, can access. Destructors are user code, and may run
    /// transactions of this context. REQUIRES: no transaction of this context is running. O(running transactions +
    /// objects destroyed).
    void collect(const status_record& self) noexcept;
    /// Moves the objects that cannot be destroyed yet to the orphaned limbo, because the context ends.
    void move_to_orphaned_limbo(const status_record& self) noexcept;
    /// Moves all objects to `to`. Any thread may call this. If the function throws std::bad_alloc, it has moved no
    /// object.
    void drain_to(log<retired>& to);
    /// Cleans up in the child of a fork, where the owner does not exist. Drops objects that the owner was moving during
    /// the fork, because they may be in two logs at once. REQUIRES: no other thread exists.
    void reset_in_fork_child() noexcept;
    /// Returns true if destructors of this limbo's objects are running on the owner's thread.
    [[nodiscard]] bool is_collecting() const noexcept { return collecting_; }
    /// Returns a counter that is odd while the owner destroys objects that it has removed from the limbo.
    [[nodiscard]] const std::atomic<std::uint32_t>& destroying() const noexcept { return destroying_; }
    /// A scope in which the owner runs destructors. Transactions in these destructors start no collection.
    class collection_scope {
    public:
        explicit collection_scope(limbo& of) noexcept : of_{of} { of_.collecting_ = true; }
        ~collection_scope() { of_.collecting_ = false; }
        collection_scope(const collection_scope&) = delete;
        collection_scope& operator=(const collection_scope&) = delete;

    private:
        limbo& of_;
    };
    template <class F>
    void for_each_log(F&& f) {
        const owner_lock held{*this};
        f(open_);
        f(sealed_);
        f(running_at_seal_);
    }

private:
    struct running_transaction {
        status_record* record;
        word state;
    };
    class owner_lock {
    public:
        explicit owner_lock(limbo& of) noexcept : of_{of} {
            of_.owner_inside_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: heavy_fence in drain_to
            if (of_.drain_requested_.load(std::memory_order_acquire) != 0) [[unlikely]]
                of_.wait_for_drain();
        }
        ~owner_lock() { of_.owner_inside_.store(0, std::memory_order_release); }
        owner_lock(const owner_lock&) = delete;
        owner_lock& operator=(const owner_lock&) = delete;

    private:
        limbo& of_;
    };
    friend struct orphaned_limbo;
    bool seal(const status_record& self) noexcept;
    [[nodiscard]] bool grace_period_is_over() const noexcept;
    /// Moves the objects that may be destroyed now to `ready`, which must be empty.
    void move_ready_to(const status_record& self, log<retired>& ready) noexcept;
    TUTTI_COLD void wait_for_drain() noexcept;

    log<retired> open_;
    log<retired> sealed_;
    log<running_transaction> running_at_seal_;
    std::size_t next_collection_size_ = batch;
    bool is_urgent_ = false;  // an object of retire_soon is left
    bool collecting_ = false;
    std::atomic<std::uint32_t> owner_inside_{0};
    std::atomic<std::uint32_t> drain_requested_{0};
    std::atomic<std::uint32_t> destroying_{0};
};

void destroy_each(const log<retired>& objects) noexcept;

/// Returns true if contexts that have ended left objects that are not destroyed yet. The result is only a hint.
[[nodiscard]] bool has_orphaned_objects() noexcept;
/// Returns how many threads are destroying objects of the orphaned limbo.
[[nodiscard]] const std::atomic<std::uint32_t>& orphan_destroyer_count() noexcept;
/// Resets orphan_destroyer_count in the child of a fork.
void reset_orphan_destroyers() noexcept;
/// Moves all objects of the orphaned limbo to `to`. If the function throws std::bad_alloc, it has moved no object.
/// REQUIRES: lock_orphaned_limbo was called.
void take_orphaned_objects(log<retired>& to);

/// Lock and unlock the orphaned limbo. While it is locked, no context adds objects to it or removes objects from it.
void lock_orphaned_limbo() noexcept;
void unlock_orphaned_limbo() noexcept;

}  // namespace tutti::memory
