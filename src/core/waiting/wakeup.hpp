// `retry`: which contexts sleep for which orecs, and how commits wake them.
//
//   a waiter:  enters its orecs in the table; raises attention_waiters; heavy fence; looks whether any of its reads
//              has changed; if not, sleeps on its own word
//   a commit:  publishes; looks at attention (no fence); if raised, wakes the waiters entered under what it wrote
//
// By core/state/attention.hpp a commit that does not see the bit had published before the waiter's look. One that sees
// it finds the waiter under the bucket's lock, or published before the waiter took that lock, and so before its look.
// Only commits that wrote an orec that a waiter read wake anybody.
//
// A commit does not wake a whole crowd, of which one might go on and change the orec before the others have come to
// run. It wakes the first; a woken waiter wakes the next, before it runs any user code:
//
//   a commit:  (lock of the bucket) the change has the next number, n; wakes the first of those that wait for the
//              orec, each of which owes n
//   a waiter:  (lock) enters the orec, with the newest number: it has looked after that change, or is about to
//   the woken: (lock) leaves; if it owes n, wakes the next that wait for the orec and entered it before n, and that
//              owe n from then on
//
// Order: by place, which an execution draws when it waits for the first time and keeps until its end. So a waiter woken
// in vain is woken again before those that came later; threads that take turns soon wait in the order of their turns,
// and a change first wakes the one whose turn it is.
//
// Invariants
//   W1  for every change n of an orec: each waiter that entered the orec before n has been woken since; or a waiter
//       owes n, and will wake the next; or the chain of n was cut (W4). A waiter that owes wakes the next in its
//       destructor, which runs however it leaves: woken, late, interrupted or by an exception
//   W2  only a waiter that sleeps owes. It runs no user code before its destructor, so no body, handler or wait for a
//       transaction is between a wake and the next one, just the time that the kernel takes to give a thread a
//       processor. A waiter that has entered and does not sleep yet is told, owes nothing, and the next is woken too
//   W3  a preemptable context owes nothing, because its worker may have more urgent work: the next is woken as well
//   W4  the chain of n ends early only if the same orec has changed again, and another chain than that of the newest
//       change, `swept`, is never cut. The newest chain, which is not cut either, reaches all that n's would have; if
//       a newer one cuts it in turn, the argument repeats; and the swept one goes through the whole list, after which
//       the next change of the bucket is swept. So where an orec changes all the time, no waiter is passed over for
//       more than two ways through those that wait before it
//   W5  places are drawn before the lock is taken: a waiter with a later place than had been drawn at the newest change
//       entered after it, or the load under the lock would have seen that draw. So the search for the next ends there
//   W6  while `census` is not zero, the bit is up and a waiter has fenced since it was raised: a waiter that finds
//       others counted need not fence. (Acquire and release on `census`.)
// While a change is the newest, a woken waiter wakes two, so all processors help to wake a crowd that can go on; when
// the orec has changed again, one.
#pragma once

#include "core/state/attention.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// One sleeping transaction. Lives on the stack of the context that sleeps.
class waiter {
public:
    /// Enters the reads of d's attempt. Throws std::bad_alloc. REQUIRES: d is still running.
    explicit waiter(descriptor& d);
    ~waiter();
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    enum class cancellable : bool { no, yes };
    /// Sleeps until woken or until the deadline. The cancellation of the thread may leave it by a forced unwind.
    void sleep(std::optional<base::deadline> until, cancellable c = cancellable::no);
    /// Any thread. REQUIRES: it lives on meanwhile.
    void wake() noexcept;

private:
    friend void wake_waiters(descriptor& d) noexcept;
    friend void wake_all_waiters() noexcept;
    friend void forget_all_waiters() noexcept;
    /// One orec that is waited for. Under the lock of its bucket.
    struct watch {
        const orec* on;
        waiter* who;
        watch* next = nullptr;
        watch* before = nullptr;
        std::uint64_t place = 0;  // of its execution, in the order of first waits
        std::uint64_t since = 0;  // the bucket's newest change when it was entered
        std::uint64_t owes = 0;   // the change that it still has to wake others for; 0: none
        bool linked = false;
    };
    struct bucket;
    class sleepers;
    static bucket buckets[];
    static bucket& bucket_of(const orec* r) noexcept;

    /// True: there is no word to wake, because a preemption layer has been told.
    bool wake_in_context() noexcept;
    /// Whether it will pass the wake on. REQUIRES: the lock of a bucket that it is found in.
    bool wake_soon(sleepers& woken) noexcept;

    static std::uint32_t generation;  // moves in the child of a fork, which has one thread then

    descriptor& self_;
    const std::uint32_t mine_ = generation;
    memory::log<watch> watches_;  // sized once, before any is linked: they do not move
    detail::shared<std::uint32_t> woken_{0};
    detail::shared<std::uint32_t> sleeps_{0};  // no user code runs any more before it is destroyed
};

/// Sleeps while `flag` is zero, until woken or until the deadline; may return early. A preemptable context gives its
/// worker to others meanwhile.
void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c);

/// Calls f(orec) for everything the attempt has read.
template <class F>
void for_each_read(const descriptor& d, F&& f) {
    for (const orec** r = d.read_begin; r != d.read_next_; ++r) f(**r);
    for (const value_read& r : d.kept.values) f(*r.under);
}

/// Wakes the waiters for every orec that d's published transaction wrote. REQUIRES: its write set is still there.
void wake_waiters(descriptor& d) noexcept;
/// Wakes all waiters, whatever they wait for.
void wake_all_waiters() noexcept;

/// How many waiters there are.
[[nodiscard]] std::uint32_t waiters() noexcept;

/// In the child of a fork no waiter is left: they were other threads. A waiter of the caller, which forked
/// in an undo action on its way to sleep, is in no list any more and does not sleep.
void forget_all_waiters() noexcept;

}  // namespace tutti::core
