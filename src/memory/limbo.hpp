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
    void reserve(std::size_t more) { open_.reserve(more); }
    /// REQUIRES: reserved, and the commit that made the object unreachable is published.
    void retire(const retired& r) noexcept { open_.push_reserved(r); }

    [[nodiscard]] bool due() const noexcept { return open_.size() >= next_attempt_; }
    /// Destroys what no transaction but that of `self` can see. Destructors are user code: they may run
    /// transactions of this very context, so REQUIRES: none is running. O(running transactions + objects destroyed).
    void collect(const activity& self) noexcept;
    /// The context leaves for good: hands on what it cannot destroy yet.
    void leave(const activity& self) noexcept;
    template <class F>
    void for_each_log(F&& f) {
        f(open_);
        f(sealed_);
        f(witnesses_);
    }

private:
    struct witness {
        activity* who;
        word state;
    };
    bool seal(const activity& self) noexcept;
    [[nodiscard]] bool forgotten() const noexcept;
    static void destroy_all(log<retired>& objects) noexcept;

    log<retired> open_;
    log<retired> sealed_;
    log<witness> witnesses_;
    std::size_t next_attempt_ = batch;
    bool collecting_ = false;
};

/// Around a fork: no context is handing anything on to the orphanage.
void hold_orphanage() noexcept;
void let_go_of_orphanage() noexcept;

}  // namespace tutti::memory
