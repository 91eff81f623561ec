// `retry`: who sleeps for which records, and how commits wake them.
//
//   a waiter:  enters its records in the table; raises attention_waiters; heavy fence; looks whether any of its reads
//              has changed; if not, sleeps on its own word
//   a commit:  publishes; looks at attention (no fence); if raised, wakes the waiters entered under what it wrote
//
// By core/attention.hpp a commit that does not see the bit had published before the waiter's look. Only commits that
// wrote a record that was read wake anybody.
#pragma once

#include "core/attention.hpp"
#include "core/descriptor.hpp"

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
    struct watch {
        const record* on;
        waiter* who;
        watch* next;
        watch** link;  // what points here, so that leaving is O(1) however long the list; null: it is in none any more
    };
    struct bucket;
    static bucket buckets[];
    static bucket& bucket_of(const record* r) noexcept;
    static void unlink(watch& w) noexcept;  // REQUIRES: the bucket's lock is held

    static std::uint32_t generation;  // moves in the child of a fork, which has one thread then

    descriptor& self_;
    const std::uint32_t mine_ = generation;
    memory::log<watch> watches_;  // sized once, before any is linked: they do not move
    detail::shared<std::uint32_t> woken_{0};
};

/// Sleeps while `flag` is zero, until woken or until the deadline; may return early. A preemptable context gives its
/// worker to others meanwhile.
void sleep_on(descriptor& self, const detail::shared<std::uint32_t>& flag, std::optional<base::deadline> until,
              waiter::cancellable c);

/// Calls f(record) for everything the attempt has read.
template <class F>
void for_each_read(const descriptor& d, F&& f) {
    for (const record** r = d.read_begin; r != d.read_next_; ++r) f(**r);
    for (const value_read& r : d.values) f(*r.under);
}

/// Wakes everybody who waits for a record that d's published transaction wrote. REQUIRES: its write set is still there.
void wake_waiters(descriptor& d) noexcept;
/// Everybody, whatever they wait for.
void wake_all_waiters() noexcept;

/// In the child of a fork: nobody waits, because whoever did was another thread. A waiter of the caller, which forked
/// in an undo action on its way to sleep, is in no list any more and does not sleep.
void forget_all_waiters() noexcept;

}  // namespace tutti::core
