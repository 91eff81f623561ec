// Threads that have registered for transactions, as winners and losers of conflicts.
#pragma once

#include <csignal>
#include <cstdio>
#include <utility>

#include "kernel/device.hpp"

namespace kernel_test {

constexpr unsigned long max_wait_ns = TUTTI_MAX_WAIT_NS;

/// Registers the calling thread for transactions during its lifetime.
class registered_thread {
public:
    explicit registered_thread(const device& of) : of_{of} {
        const int error = of.call(TUTTI_TX_REGISTER, &number_);
        EXPECT_EQ(error, 0);
    }
    ~registered_thread() {
        if (gone_) return;
        EXPECT_EQ(of_.call(TUTTI_TX_UNREGISTER), 0);
    }
    registered_thread(const registered_thread&) = delete;
    registered_thread& operator=(const registered_thread&) = delete;

    [[nodiscard]] unsigned number() const { return number_; }
    [[nodiscard]] tutti_transaction& entry() const { return of_.transaction(number_); }
    /// Makes the thread end without unregistering.
    void abandon() { gone_ = true; }

    void begin(__u64 transaction) const { write_once<__u64>(entry().running, transaction); }
    /// Ends a transaction as the library does. Returns false if no thread waited.
    bool end() const {
        std::atomic_ref<__u64>{entry().running}.store(0, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (std::atomic_ref<__u32>{entry().waiters}.load(std::memory_order_relaxed) == 0) return false;
        EXPECT_EQ(of_.call(TUTTI_WAKE_WAITERS), 0);
        return true;
    }
    /// Waits for a transaction. Returns the error.
    [[nodiscard]] int wait_for(unsigned number, __u64 transaction, unsigned long ns = max_wait_ns,
                               unsigned long how = TUTTI_AWAIT) const {
        write_once<__u32>(entry().awaits, number);
        write_once<__u64>(entry().awaited, transaction);
        return of_.call_with(how, ns);
    }

private:
    const device& of_;
    __u32 number_ = ~0U;
    bool gone_ = false;
};

/// A thread that runs transactions one after another, and a thread that loses to each transaction that it sees. The
/// next transaction begins when the loser is back.
class winner_and_loser {
public:
    explicit winner_and_loser(const device& of) : of_{of} {
        winner_ = std::thread{[this] { win(); }};
        loser_ = std::thread{[this] { lose(); }};
    }
    ~winner_and_loser() { stop(); }
    winner_and_loser(const winner_and_loser&) = delete;
    winner_and_loser& operator=(const winner_and_loser&) = delete;

    void stop() {
        stop_ = true;
        if (winner_.joinable()) winner_.join();
        if (loser_.joinable()) loser_.join();
    }
    [[nodiscard]] std::uint64_t rounds() const { return back_; }
    [[nodiscard]] std::uint64_t errors() const { return errors_; }
    [[nodiscard]] std::uint64_t slept() const { return slept_; }
    /// Returns the number of sleeps that lasted to their limit although the winner's transaction was over. The number
    /// includes transactions that ended just at the limit.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    /// Waits until `done()` returns true. Yields now and then, because the other thread may need this thread's
    /// processor.
    template <class F>
    static void wait_until(F&& done) {
        for (unsigned turns = 0; !done(); ++turns) {
            if (turns % 1024 == 1023) std::this_thread::yield();
        }
    }

    void win() {
        const registered_thread me{of_};
        number_ = me.number();
        std::uint64_t random = 88172645463325252U;
        for (std::uint64_t n = 1; !stop_; ++n) {
            me.begin(n);
            begun_ = n;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // A random time, from before the loser's call to after the start of its sleep.
            for (std::uint64_t turns = random % (random % 16 == 0 ? 20'000 : 600); turns != 0; --turns) {
                asm volatile("");
            }
            me.end();
            wait_until([&] { return back_ >= n || stop_; });
        }
    }
    void lose() {
        const registered_thread me{of_};
        for (std::uint64_t n = 1;; ++n) {
            wait_until([&] { return begun_ >= n || stop_; });
            if (stop_) break;
            const std::uint64_t timed_out = read_once(me.entry().timed_out);
            const int error = me.wait_for(static_cast<unsigned>(number_), n);
            if (error != 0 && error != ETIMEDOUT) ++errors_;
            if (read_once(of_.transaction(static_cast<unsigned>(number_)).running) == n) continue_after_timeout(me, n);
            else if (read_once(me.entry().timed_out) != timed_out) ++lost_;
            slept_ = read_once(me.entry().slept);
            back_ = n;
        }
    }
    /// Waits until the winner's transaction ends, after the winner was off its processor for the whole timeout.
    void continue_after_timeout(const registered_thread& me, std::uint64_t n) const {
        while (read_once(of_.transaction(static_cast<unsigned>(number_)).running) == n && !stop_) {
            static_cast<void>(me.wait_for(static_cast<unsigned>(number_), n));
        }
    }

    const device& of_;
    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> number_{0}, begun_{0}, back_{0}, errors_{0}, slept_{0}, lost_{0};
    std::thread winner_, loser_;
};

/// Runs a winner that never ends, and threads that sleep for it repeatedly; prints `ready` once they do.
[[noreturn]] inline void sleep_until_killed(const char* ready) {
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    for (int i = 0; i < 4; ++i) {
        std::thread{[&d, number = winner.number()] {
            const registered_thread me{d};
            for (;;) static_cast<void>(me.wait_for(number, 1));
        }}.detach();
    }
    while (read_once(winner.entry().waiters) == 0) std::this_thread::yield();
    std::puts(ready);
    std::fflush(stdout);
    for (;;) ::pause();
}

}  // namespace kernel_test
