// Reclamation: retired objects wait here until no running transaction can still see them.
//
// Objects are collected in batches. Sealing a batch begins with a heavy fence, which makes every earlier begin visible
// (begin itself stores its state without a fence). Then the limbo records the states of all running transactions. The
// batch may be destroyed when each of these transactions is over. A transaction that begins after the fence finds the
// objects unreachable already: the commit that unlinked them was published before they were retired.
//
// A long or suspended transaction delays its batch, but never the progress of other transactions.
//
// Thread safety: each descriptor has one limbo, used by its owner. Objects that a leaving context could not yet destroy
// go to a common orphanage. The orphanage has its own lock, and the collections of other contexts empty it.
//
// One other thread may empty a limbo: the one that destroys all retired objects (core/lifecycle/retired.cpp). Owner and
// emptier exclude each other by an asymmetric lock, because the owner uses it for each object and the emptier rarely:
//
//   owner:    used = 1; is `claimed` up? then used = 0, waits, and tries again
//   emptier:  claimed = 1; heavy_fence; waits until used == 0; empties the limbo; claimed = 0
//
// By the guarantee of base/fence.hpp one of them sees the other. No user code runs while either is inside.
#pragma once

#include "memory/activity.hpp"
#include "memory/log.hpp"

namespace tutti::memory {

struct retired {
    void* object;
    void (*destroy)(void*);
};

class limbo {
public:
    /// Objects per batch: a fence costs some 2 us, which is shared by this number of objects.
#if defined(TUTTI_INTERLEAVE)
    static constexpr std::size_t batch = 1;  // the programs of the interleaving tests are short
#else
    static constexpr std::size_t batch = 256;
#endif

    /// Makes room so that `more` calls of `retire` cannot fail. Throws std::bad_alloc.
    void reserve(std::size_t more) {
        const inside here{*this};
        open_.reserve(more);
    }
    /// Adds a retired object. REQUIRES: room was reserved, and the commit that made the object unreachable is
    /// published. `hand_over` drops objects, but keeps reserved room.
    void retire(const retired& r) noexcept {
        const inside here{*this};
        open_.push_reserved(r);
    }

    [[nodiscard]] bool due() noexcept {
        const inside here{*this};
        return open_.size() >= next_attempt_;
    }
    /// Destroys objects that no transaction, except that of `self`, can see. Destructors are user code, and may run
    /// transactions of this very context. REQUIRES: no transaction of this context is running. O(running transactions +
    /// objects destroyed).
    void collect(const activity& self) noexcept;
    /// Hands over the objects that it cannot destroy yet, because the context leaves.
    void leave(const activity& self) noexcept;
    /// Moves all objects to `to`, on any thread. Throws std::bad_alloc, and then has moved no object.
    void hand_over(log<retired>& to);
    /// Cleans up in the child of a fork, where the owner does not exist. Drops objects that the owner was about to
    /// move, because they may be in two logs at once. REQUIRES: no other thread exists.
    void forget_owner() noexcept;
    /// Returns true if destructors of its objects run on the owner's thread.
    [[nodiscard]] bool is_collecting() const noexcept { return collecting_; }
    /// Returns a counter that is odd while the owner destroys objects that it has taken out.
    [[nodiscard]] const std::atomic<std::uint32_t>& destroying() const noexcept { return destroying_; }
    /// The scope in which the owner's destructors run, and start no collection themselves.
    class collection {
    public:
        explicit collection(limbo& of) noexcept : of_{of} { of_.collecting_ = true; }
        ~collection() { of_.collecting_ = false; }
        collection(const collection&) = delete;
        collection& operator=(const collection&) = delete;

    private:
        limbo& of_;
    };
    template <class F>
    void for_each_log(F&& f) {
        const inside here{*this};
        f(open_);
        f(sealed_);
        f(witnesses_);
    }

private:
    struct witness {
        activity* who;
        word state;
    };
    class inside {
    public:
        explicit inside(limbo& of) noexcept : of_{of} {
            of_.used_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // partner: heavy_fence in hand_over
            if (of_.claimed_.load(std::memory_order_acquire) != 0) [[unlikely]]
                of_.wait_for_emptier();
        }
        ~inside() { of_.used_.store(0, std::memory_order_release); }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;

    private:
        limbo& of_;
    };
    friend struct orphanage;
    bool seal(const activity& self) noexcept;
    [[nodiscard]] bool forgotten() const noexcept;
    /// Moves the objects that may be destroyed now to `ready`, which is empty.
    void take_ready(const activity& self, log<retired>& ready) noexcept;
    TUTTI_COLD void wait_for_emptier() noexcept;

    log<retired> open_;
    log<retired> sealed_;
    log<witness> witnesses_;
    std::size_t next_attempt_ = batch;
    bool collecting_ = false;
    std::atomic<std::uint32_t> used_{0};
    std::atomic<std::uint32_t> claimed_{0};
    std::atomic<std::uint32_t> destroying_{0};
};

void destroy_each(const log<retired>& objects) noexcept;

/// Returns true if ended contexts have left objects that are not destroyed yet. A hint.
[[nodiscard]] bool orphans_exist() noexcept;
/// Returns how many threads destroy orphans.
[[nodiscard]] const std::atomic<std::uint32_t>& orphans_being_destroyed() noexcept;
/// Resets that number in the child of a fork.
void forget_collectors_of_orphans() noexcept;
/// Moves all orphans to `to`. Throws std::bad_alloc, and then has moved no object. REQUIRES: hold_orphanage.
void take_orphans(log<retired>& to);

/// Lock and unlock the orphanage: in between, no context adds objects to it, or takes objects from it.
void hold_orphanage() noexcept;
void let_go_of_orphanage() noexcept;

}  // namespace tutti::memory
