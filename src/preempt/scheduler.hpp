// The scheduler: what a server, or a program that embeds one, uses of this layer.
//
//   scheduler s{{.workers = 2}};
//   s.application().add_object_of(procedure);
//   if (!s.submit({procedure, &parameters, 3})) …   // refused: too much waits already
//   s.stop();
//
// One scheduler at a time in a process: ticks are signals, and the runtime has one seam for it.
//
// Everything below `lock_` is changed under it. It is never held while a procedure or an observer runs, and a worker
// that holds it is not in application code, so no tick finds it held on its own thread. It is taken inside locks of the
// runtime (an eviction, a bucket of sleepers), and none of those inside it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/lock.hpp"
#include "preempt/backlog.hpp"
#include "preempt/code_map.hpp"
#include "preempt/options.hpp"
#include "preempt/ready_queue.hpp"
#include "preempt/worker.hpp"

namespace tutti::preempt {

class scheduler {
public:
    /// Starts the workers. Throws std::invalid_argument for options that make no sense, std::bad_alloc,
    /// std::system_error.
    TUTTI_EXPORT explicit scheduler(const options& how);
    /// stop()
    TUTTI_EXPORT ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// What may be preempted: nothing until something is added.
    [[nodiscard]] code_map& application() noexcept { return application_; }

    /// Hands in work, from any thread, procedures included. False if there is no room or the scheduler stops: then
    /// it will not run. Throws std::bad_alloc.
    [[nodiscard]] bool submit(const work& w) { return submit({&w, 1}) == 1; }
    /// The same for several at once: nobody is interrupted for one of them that gives way to the next. How many were
    /// taken, from the front.
    [[nodiscard]] TUTTI_EXPORT std::size_t submit(std::span<const work> several);
    /// Returns when everything accepted so far, and what it handed in, has run.
    void drain() noexcept;
    /// Interrupts the transaction of the work that was handed in with that argument, if it has begun (core/interrupt.hpp),
    /// until that work ends. From any thread but in a transaction.
    TUTTI_EXPORT void interrupt(const void* argument) noexcept;
    /// Accepts nothing from now on but what procedures hand in, drains, and ends the workers. Idempotent; from one
    /// thread.
    TUTTI_EXPORT void stop() noexcept;

    [[nodiscard]] TUTTI_EXPORT counts statistics() noexcept;

    /// Whether the process has one.
    [[nodiscard]] TUTTI_EXPORT static bool exists() noexcept;

    /// The context that the caller runs on, or null.
    [[nodiscard]] static context* current() noexcept;

private:
    friend class worker;

    void deliver(const calls& whom) noexcept;

    // REQUIRES: the lock is held.
    /// False: refused. `at` counts what was admitted by level. Throws std::bad_alloc, std::system_error.
    bool accept(const work& w, std::array<unsigned, most_levels>& at);
    void equip(context& c);                // throws std::bad_alloc, std::system_error
    context* context_for(unsigned level);  // the same; null: there is none
    void admit(context& c, const backlog::item& w) noexcept;
    void recycle(context& c) noexcept;
    void call_for(const context& c, calls& whom) noexcept;
    void call_any(unsigned level, calls& whom) noexcept;
    void ring_any(calls& whom) noexcept;
    void wake(context& c, calls& whom) noexcept;
    void make_active(context& c, calls& whom) noexcept;
    void lend(context& to, const context& from, calls& whom) noexcept;
    void take_back_loan(context& c, calls& whom) noexcept;
    void enter_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept;
    void forget_parked(context& c) noexcept;

    /// Between the runtime and its one scheduler, and back (seam.cpp).
    void open_seam();
    void close_seam() noexcept;
    void connect(context& c) const noexcept;

    // What the runtime calls (core::preemption). `self` is always what the calling context runs.
    static void serve_tick(core::descriptor& self) noexcept;
    static void wait(core::descriptor& self, core::descriptor& other, core::word state) noexcept;
    static void sleep(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept;
    static void wake_sleeper(core::descriptor& sleeper) noexcept;
    static bool outranks(core::descriptor& self, core::descriptor& other) noexcept;
    static void let_go(core::descriptor& d) noexcept;
    static void hold(core::descriptor& self, bool begins) noexcept;
    /// A signal that came to a thread that is no worker is for who had it before.
    static void pass_on(int number, siginfo_t* about, void* interrupted) noexcept;
    static context* context_of(const core::descriptor& d) noexcept;

    const options how_;
    const tick_source& source_;
    code_map application_;
    std::vector<std::unique_ptr<context>> contexts_;
    std::vector<std::unique_ptr<worker>> workers_;

    base::lock lock_;
    ready_queue ready_;
    context* pooled_ = nullptr;
    backlog backlog_;
    std::vector<context*> parked_;  // with those that are about to be
    std::uint64_t outstanding_ = 0;
    bool stopping_ = false;
    bool ended_ = false;
    counts counts_;
    std::atomic<std::uint32_t> drained_{0};  // how often nothing was left
};

}  // namespace tutti::preempt
