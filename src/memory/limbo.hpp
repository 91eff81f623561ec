// Reclamation: what transactions removed waits here until no running transaction can still see it.
//
// Objects are collected in batches. To seal a batch, a heavy fence makes every begin that has already happened
// visible (begin itself stores its state without a fence), then the states of all running transactions are remembered;
// the batch may go when each of those transactions is over. A transaction that begins after the fence finds the objects
// already unreachable: the commit that unlinked them was published before they were retired.
//
// A long or suspended transaction holds back its batch, never the progress of others.
//
// Thread safety: one limbo a descriptor, used by its owner. What a leaving context could not yet destroy goes to a
// common orphanage, which has a lock of its own and is emptied by the collections of others.
//
// One other thread may empty a limbo: the one that destroys all that is retired (core/lifecycle/retired.cpp). Owner and
// emptier exclude each other by an asymmetric lock, because the owner comes with each object and the emptier hardly
// ever:
//
//   owner:    used = 1; is `claimed` up? then used = 0, wait, and again
//   emptier:  claimed = 1; heavy_fence; wait until used == 0; empty it; claimed = 0
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
    /// Objects per batch: a fence costs some 2 us, which this spreads over as many objects.
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
    /// REQUIRES: reserved, and the commit that made the object unreachable is published. `hand_over` drops objects, and
    /// never room.
    void retire(const retired& r) noexcept {
        const inside here{*this};
        open_.push_reserved(r);
    }

    [[nodiscard]] bool due() noexcept {
        const inside here{*this};
        return open_.size() >= next_attempt_;
    }
    /// Destroys what no transaction but that of `self` can see. Destructors are user code: they may run
    /// transactions of this very context, so REQUIRES: none is running. O(running transactions + objects destroyed).
    void collect(const activity& self) noexcept;
    /// The context leaves for good: hands on what it cannot destroy yet.
    void leave(const activity& self) noexcept;
    /// Any thread: moves all objects to `to`. Throws std::bad_alloc, and then has moved none.
    void hand_over(log<retired>& to);
    /// In the child of a fork, where the owner is gone. What it was about to change is dropped, because it may be in
    /// two logs at once. REQUIRES: there is no other thread.
    void forget_owner() noexcept;
    /// Whether destructors of its objects run on the owner's thread.
    [[nodiscard]] bool is_collecting() const noexcept { return collecting_; }
    /// Odd while the owner destroys what it has taken out.
    [[nodiscard]] const std::atomic<std::uint32_t>& destroying() const noexcept { return destroying_; }
    /// While it lives, the owner's destructors run, and collect nothing themselves.
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
    /// Moves to `ready`, which is empty, what may be destroyed now.
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

/// Whether ended contexts have left anything that is not destroyed. A hint.
[[nodiscard]] bool orphans_exist() noexcept;
/// How many threads destroy orphans.
[[nodiscard]] const std::atomic<std::uint32_t>& orphans_being_destroyed() noexcept;
/// In the child of a fork.
void forget_collectors_of_orphans() noexcept;
/// Moves all orphans to `to`. Throws std::bad_alloc, and then has moved none. REQUIRES: hold_orphanage.
void take_orphans(log<retired>& to);

/// In between, no context hands anything on to the orphanage, or takes it from there.
void hold_orphanage() noexcept;
void let_go_of_orphanage() noexcept;

}  // namespace tutti::memory
