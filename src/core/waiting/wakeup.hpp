// `retry`: which contexts sleep for which orecs, and how commits wake them.
//
//   a waiter:  enters its orecs in the table; raises flag_retry_waiters; executes a heavy fence; checks whether any of
//              its reads has changed; if not, sleeps on its own word
//   a commit:  publishes; reads commit_flags (no fence); if the bit is up, wakes the waiters entered for its writes
//
// By core/state/commit_flags.hpp a commit that does not see the bit had published before the waiter's check. A commit
// that sees the bit may find the waiter under the bucket's lock. Otherwise it published before the waiter took that
// lock, and so before the waiter's check. A commit wakes only waiters whose reads include an orec that it wrote.
//
// A commit does not wake all waiters: one of them might continue and change the orec before the others run. It wakes
// the first ones. A woken waiter wakes the next one before it runs any user code:
//
//   a commit:  (lock of the bucket) the change gets the next number, n; wakes the first of those that wait for the
//              orec, each of which must pass n on
//   a waiter:  (lock) enters the orec, with the newest number: it has checked after that change, or is about to
//   the woken: (lock) leaves; if it must pass n on, wakes the next waiters for the orec that entered it before n.
//              These must pass n on from then on
//
// Waiters have an order. An execution draws its number in this order when it waits for the first time, and keeps the
// number until its end. So a waiter woken in vain is woken again before later ones. Threads that take turns soon wait
// in the order of their turns, and a change first wakes the thread whose turn it is.
//
// Invariants
//   WKP1  for every change n of an orec, and each waiter that entered the orec before n: the waiter has been woken
//       since, or some waiter must pass n on and will wake the next, or the chain of n was cut (WKP4). A waiter that
//       must pass n on wakes the next in its destructor, which always runs: after a wake-up, a timeout, an interruption
//       or an exception
//   WKP2  only a waiter that sleeps must pass a change on. It runs no user code before its destructor. So between one
//       wake-up and the next lies no body, handler or wait for a transaction, only the time in which the kernel gives a
//       thread a processor. A waiter that has entered and does not sleep yet is told, need not pass anything on, and
//       the next waiter is woken too
//   WKP3  a preemptable context need not pass anything on, because its worker may have more urgent work: the next
//         waiter is woken too
//   WKP4  the chain of n ends early only if the newest change and the change `full_pass` are others than n, and all
//       three are changes of the same orec. The chain of the newest change is not cut, and reaches every waiter that
//       n's chain would have reached; if a newer change cuts it in turn, the argument repeats. The chain of `full_pass`
//       is never cut. It goes through the whole list, and then the bucket's next change becomes `full_pass`. So, if an
//       orec changes all the time, a waiter is passed over for at most two passes through the waiters before it
//   WKP5  numbers in the order are drawn before the lock is taken. A waiter whose number is later than all numbers
//       drawn at the newest change entered after that change: otherwise the load under the lock would have seen its
//       draw. So the search for the next waiter ends there
//   WKP6  while `waiter_count` is not zero, flag_retry_waiters is up, and a waiter has fenced since it was raised. So a
//       waiter that finds others counted need not fence. (Acquire and release on `waiter_count`.)
//
// While a change is the newest, a woken waiter wakes two, so that all processors help to wake waiters that can all
// continue. When the orec has changed again, it wakes one.
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
    /// Sleeps until woken or until the deadline. If the thread is cancelled, a forced unwind may leave this call.
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
        std::uint64_t must_pass_on = 0;  // the change for which it still has to wake others; 0: none
        bool linked = false;
    };
    struct bucket;
    class sleepers;
    static bucket buckets[];
    static bucket& bucket_of(const orec* r) noexcept;

    /// Wakes the waiter through its preemption layer. Returns false without such a layer, and then the caller has to
    /// wake the word.
    bool wake_in_context() noexcept;
    /// Wakes the waiter, or adds its word to `woken`. Returns true if the waiter will pass the wake-up on. REQUIRES:
    /// the caller holds the lock of a bucket in which it found the waiter.
    bool wake_soon(sleepers& woken) noexcept;

    static std::uint32_t generation;  // incremented in the child of a fork, which then has one thread

    descriptor& self_;
    const std::uint32_t own_generation_ = generation;
    memory::log<watched_orec> watched_;  // sized once, before any is linked, so the watches do not move
    detail::shared<std::uint32_t> woken_{0};
    detail::shared<std::uint32_t> sleeps_{0};  // from then on no user code runs before the destructor
};

/// Sleeps while `flag` is zero, until woken or until the deadline; may return early. A preemptable context lets other
/// contexts of its worker run meanwhile.
void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c);

/// Calls f(orec) for every orec that the attempt has read.
template <class F>
void for_each_read(const descriptor& d, F&& f) {
    for (const orec** r = d.read_begin; r != d.read_next_; ++r) f(**r);
    for (const value_read& r : d.algorithm_data.values) f(*r.under);
}

/// Wakes the waiters for every orec that d's published transaction wrote. REQUIRES: d still has its write set.
void wake_waiters(descriptor& d) noexcept;
/// Wakes all waiters of all orecs.
void wake_all_waiters() noexcept;

/// Returns the number of waiters.
[[nodiscard]] std::uint32_t count_waiters() noexcept;

/// Forgets all waiters in the child of a fork, because they belonged to other threads. The caller itself may have
/// forked in an undo action on its way to sleep; its waiter is then in no list, and does not sleep.
void forget_all_waiters() noexcept;

}  // namespace tutti::core
