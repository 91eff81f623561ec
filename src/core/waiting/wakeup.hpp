// `retry`: a table of the contexts that sleep for changes of orecs, and the protocol by which commits wake them.
//
//   a waiter:  enters its orecs in the table; raises flag_retry_waiters; executes a heavy fence; checks whether any of
//              its reads has changed; if not, sleeps on its own word
//   a commit:  publishes; reads commit_flags (no fence); if the bit is set, wakes the waiters entered for its writes
//
// By core/state/commit_flags.hpp, a commit that does not see the bit had published before the waiter's check. A commit
// that sees the bit searches the bucket under its lock. Either it finds the waiter there, or it published before the
// waiter acquired that lock, and so before the waiter's check. A commit wakes only waiters whose reads include an orec
// that it wrote.
//
// A commit does not wake all waiters, because one of them might continue and change the orec before the others run. The
// commit wakes only the first waiters. A woken waiter then wakes the next waiters before it runs any user code:
//
//   a commit:  (lock of the bucket) the change gets the next number, n; wakes the first of those that wait for the
//              orec, each of which must pass n on
//   a waiter:  (lock) enters the orec, with the newest number: it has checked after that change, or is about to
//   the woken: (lock) leaves; if it must pass n on, wakes the next waiters for the orec that entered it before n.
//              These must pass n on from then on
//
// Waiters have an order. An execution draws its number in this order when it waits for the first time, and keeps the
// number until its end. So a waiter that was woken but had to wait again is woken before later waiters. Threads that
// alternate soon wait in the order of their turns, and a change first wakes the thread whose turn it is.
//
// Invariants
//   WKP1  For every change n of an orec, and each waiter that entered the orec before n, one of three statements is
//       true: the waiter has been woken after n; or another waiter must pass n on, and will wake the next waiter; or
//       the chain of n was cut (WKP4). A waiter that must pass n on wakes the next waiter in its destructor, which
//       always runs: after a wake-up, a timeout, an interruption or an exception.
//   WKP2  Only a waiter that sleeps must pass a change on. Such a waiter runs no user code before its destructor. So no
//       body, handler or wait for a transaction delays the next wake-up, only the time until the kernel gives the woken
//       thread a processor. A waiter that has entered but does not sleep yet is notified, and need not pass anything
//       on. So the next waiter is woken, too.
//   WKP3  A preemptable context need not pass anything on, because its worker may have more urgent work. So the next
//       waiter is woken, too.
//   WKP4  The chain of n, in which each woken waiter wakes the next, is cut only if n is neither the newest change nor
//       the change `full_pass`, and all three are changes of the same orec. The chain of the newest change is not cut,
//       and reaches every waiter that n's chain would have reached. If a newer change cuts that chain in turn, the
//       argument repeats. The chain of `full_pass` is never cut. It goes through the whole list, and then the bucket's
//       next change becomes `full_pass`. So, if an orec changes all the time, a waiter is passed over for at most two
//       passes through the waiters before it.
//   WKP5  A waiter draws its number before it acquires the lock. If the waiter's number is later than all numbers that
//       were drawn at the newest change, the waiter entered after that change. Otherwise the load under the lock would
//       have seen the waiter's draw. So the search for the next waiter ends at this waiter.
//   WKP6  While `waiter_count` is not zero, flag_retry_waiters is set, and a waiter has executed a fence after the flag
//       was set. So a waiter that finds a count above zero needs no fence. (Acquire and release on `waiter_count`.)
//
// As long as the change is the newest one, all waiters may be able to continue. So a woken waiter wakes two others, so
// that all processors help with the wake-ups. If the orec has changed again, a woken waiter wakes one other.
#pragma once

#include "core/state/commit_flags.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// One sleeping transaction. It lives on the stack of the context that sleeps.
class waiter {
public:
    /// Enters the reads of d's attempt. Throws std::bad_alloc. REQUIRES: d is still running.
    explicit waiter(descriptor& d);
    ~waiter();
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    enum class cancellable : bool { no, yes };
    /// Sleeps until the waiter is woken, or until the deadline. If the thread is cancelled, a forced unwind may leave
    /// this call.
    void sleep(std::optional<base::deadline> until, cancellable c = cancellable::no);
    /// Wakes the waiter, on any thread. REQUIRES: the waiter outlives the call.
    void wake() noexcept;

private:
    friend void wake_waiters(descriptor& d) noexcept;
    friend void wake_all_waiters() noexcept;
    friend void forget_all_waiters() noexcept;
    /// One orec that a waiter waits for; guarded by the lock of its bucket.
    struct watched_orec {
        const orec* target;
        waiter* owner;
        watched_orec* next = nullptr;
        watched_orec* previous = nullptr;
        std::uint64_t order = 0;         // the number of its execution in the order of first waits
        std::uint64_t since = 0;         // the bucket's newest change when this watch was entered
        std::uint64_t must_pass_on = 0;  // the change for which `owner` still has to wake others; 0: none
        bool linked = false;
    };
    struct bucket;
    class sleepers;
    static bucket buckets[];
    static bucket& bucket_of(const orec* r) noexcept;

    /// Wakes the waiter through its preemption layer. Returns false if there is no such layer, and then the caller has
    /// to wake the word.
    bool wake_in_context() noexcept;
    /// Wakes the waiter, or adds the waiter's word to `woken`. Returns true if the waiter will pass the wake-up on.
    /// REQUIRES: the caller holds the lock of a bucket in which it found the waiter.
    bool wake_soon(sleepers& woken) noexcept;

    static std::uint32_t generation;  // incremented in the child of a fork, which then has one thread

    descriptor& self_;
    const std::uint32_t own_generation_ = generation;
    memory::log<watched_orec> watched_;  // sized before any watch is linked, so the watches do not move
    detail::shared<std::uint32_t> woken_{0};
    detail::shared<std::uint32_t> sleeps_{0};  // from then on, no user code runs before the destructor
};

/// Sleeps while `flag` is zero, until a thread wakes self, or until the deadline. May return early. A preemptable
/// context lets other contexts of its worker run meanwhile.
void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c);

/// Calls f(orec) for every orec that the attempt has read.
template <class F>
void for_each_read(const descriptor& d, F&& f) {
    for (const orec** r = d.read_begin; r != d.read_next_; ++r) f(**r);
    for (const value_read& r : d.algorithm_data.values) f(*r.under);
}

/// Wakes the waiters for every orec that d's transaction has written and published. REQUIRES: d still has its write
/// set.
void wake_waiters(descriptor& d) noexcept;
/// Wakes all waiters of all orecs.
void wake_all_waiters() noexcept;

/// Returns the number of waiters.
[[nodiscard]] std::uint32_t count_waiters() noexcept;

/// Forgets all waiters in the child of a fork, because they belonged to other threads. The caller may itself have
/// forked in an undo action before its sleep. Its waiter is then in no list, and does not sleep.
void forget_all_waiters() noexcept;

}  // namespace tutti::core
