#include "server/calls/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/lifecycle/interrupt.hpp"
#include "core/modes/deadline.hpp"
#include "core/state/critical.hpp"
#include "preempt/stack_overflow.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::server {

/// Shows the job that a worker runs, and whether that job sleeps, to threads that interrupt the job. Lock order: a
/// worker's mutex comes before the pool's.
class thread_pool::worker {
public:
    explicit worker(thread_pool& pool) noexcept : pool_{pool} {}

    void begin_job(job& j, std::uint64_t run_number) {
        const std::scoped_lock lock{mutex_};
        current_ = &j;
        run_number_ = run_number;
    }
    [[nodiscard]] std::uint64_t run_number_of(const job& j) noexcept {
        const std::scoped_lock lock{mutex_};
        if (current_ != &j) return 0;
        const std::scoped_lock all{pool_.mutex_};
        return in_retry_ == nullptr ? run_number_ : 0;
    }
    /// Returns the current job. Called by the worker's own thread, which is the only thread that changes it.
    [[nodiscard]] const job* current_job() const noexcept { return current_; }
    void end_job() {
        const std::scoped_lock lock{mutex_};
        current_ = nullptr;
        lower();
    }
    void forget() {
        const std::scoped_lock lock{mutex_};
        lower();
    }
    bool interrupt_if(const job& j) noexcept {
        const std::scoped_lock lock{mutex_};
        if (current_ != &j) return false;
        raised_ = true;
        handle_->raise();
        return true;
    }
    bool interrupt_sleeper_if(const job& j) noexcept {
        const std::scoped_lock lock{mutex_};
        if (current_ != &j) return false;
        core::descriptor* sleeper = nullptr;
        {
            const std::scoped_lock all{pool_.mutex_};
            sleeper = in_retry_;
        }
        if (sleeper == nullptr) return true;
        raised_ = true;
        core::interrupt_sleeper(*sleeper);  // a commit may have woken it already
        return true;
    }
    /// Interrupts a sleeping job if the shutdown interrupts all sleeping jobs. The caller must not hold the pool's
    /// mutex, because waking the job locks that mutex. This worker's mutex keeps the sleeping job on this worker.
    void interrupt_sleeper_at_shutdown() noexcept {
        const std::scoped_lock lock{mutex_};
        core::descriptor* sleeper = nullptr;
        {
            const std::scoped_lock all{pool_.mutex_};
            if (pool_.all_are_interrupted()) sleeper = asleep;
        }
        if (sleeper == nullptr) return;
        raised_ = true;
        current_->interrupt_at_shutdown();
        core::interrupt_sleeper(*sleeper);  // a thread of the program may have woken it already
    }
    /// Returns true if the sleeping job can be interrupted. REQUIRES: the pool's mutex is held. The worker's thread has
    /// stored `asleep->sleeping_waiter` before it locked that mutex to sleep.
    [[nodiscard]] bool can_be_ended() const noexcept { return asleep != nullptr && asleep->sleeping_waiter != nullptr; }
    /// Attaches the calling thread. Called by the worker's own thread; `handle` must live as long as the thread.
    void attach(interruption& handle) noexcept {
        handle_ = &handle;
        hooks_.sleep = &sleep;
        hooks_.wake = &wake;
        hooks_.isolates = true;
        hooks_.of = this;
        core::descriptor::of(*tutti::detail::current_transaction).hooks = &hooks_;
    }

    core::descriptor* asleep = nullptr;  // guarded by the pool's mutex: the sleeper, if the pool counts it in asleep_
    bool is_in_idle_work = false;        // used by the worker's own thread: it does idle work

    static thread_local worker* current;  // the worker of the calling thread

private:
    void lower() {
        if (raised_) handle_->lower();
        raised_ = false;
    }

    struct hooks : core::preemption {
        worker* of = nullptr;
    };

    static worker& worker_of(const core::descriptor& d) noexcept { return *static_cast<const hooks*>(d.hooks)->of; }

    static void sleep(core::descriptor& self, const tutti::detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept {
        worker& w = worker_of(self);
        lock_type lock{w.pool_.mutex_};
        const auto is_woken = [&] { return woken.load(std::memory_order_acquire) != 0; };
        if (is_woken()) return;
        w.in_retry_ = &self;
        // Without a time limit, `until` only ends the sleep for a periodic check by the `retry` itself.
        if (!core::retry_limit(self)) {
            w.asleep = &self;
            ++w.pool_.asleep_;
            w.pool_.interrupt_sleepers(lock);
        }
        if (until) w.woken_.wait_until(lock, *until, is_woken);
        else w.woken_.wait(lock, is_woken);
        w.count_as_awake();
    }
    static void wake(core::descriptor& sleeper) noexcept {
        worker& w = worker_of(sleeper);
        const std::scoped_lock lock{w.pool_.mutex_};
        w.count_as_awake();
        w.woken_.notify_one();
    }
    void count_as_awake() noexcept {
        in_retry_ = nullptr;
        if (std::exchange(asleep, nullptr) != nullptr) --pool_.asleep_;
    }

    thread_pool& pool_;
    std::mutex mutex_;
    job* current_ = nullptr;
    std::uint64_t run_number_ = 0;  // the run number of current_
    interruption* handle_ = nullptr;
    bool raised_ = false;
    core::descriptor* in_retry_ = nullptr;  // guarded by the pool's mutex: the sleeper, with or without a limit
    hooks hooks_{};
    std::condition_variable woken_;  // used with the pool's mutex
};

constinit thread_local thread_pool::worker* thread_pool::worker::current = nullptr;

thread_pool::thread_pool(unsigned workers, std::size_t capacity, timeline& recorder, idle_work* idle)
    : timeline_{recorder}, idle_work_{idle}, queue_{capacity} {
    for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<worker>(*this));
    try {
        for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(*workers_[i], i); });
    } catch (...) {
        thread_pool::drain();  // the existing workers already wait for work
        throw;
    }
}

thread_pool::~thread_pool() { thread_pool::drain(); }

std::span<job*> thread_pool::submit(std::span<job*> jobs, unsigned max_wakeups) noexcept {
    lock_type lock{mutex_};
    if (draining_) return jobs;
    std::size_t away = 0;
    for (job* const j : jobs) {
        if (job* const other = queue_.push(*j)) jobs[away++] = other;
    }
    const std::size_t more = jobs.size() - away;
    // Not all of the new jobs get a wakeup. Workers that are awake find the other jobs, because they check the queue
    // before they do something else.
    if (max_wakeups < more) wakeup_word_.fetch_add(1, std::memory_order_seq_cst);
    wake(lock, std::min<std::size_t>(more, max_wakeups));
    return jobs.first(away);
}

/// Wakes up to `workers` idle workers.
void thread_pool::wake(lock_type& lock, std::size_t workers) noexcept {
    // If the caller is a worker that is doing idle work, it returns to the queue by itself and needs no wakeup.
    const bool comes = worker::current != nullptr && worker::current->is_in_idle_work && workers != 0;
    const std::size_t asleep = std::min(idle_, workers - (comes ? 1 : 0));
    const bool recalls = in_idle_work_ > (comes ? 1U : 0U) && workers > asleep + (comes ? 1 : 0);
    if (comes || recalls) wakeup_word_.fetch_add(1, std::memory_order_seq_cst);  // pairs with idle_wakeup::is_requested
    lock.unlock();
    if (asleep == 1) arrived_.notify_one();
    else if (asleep > 1) arrived_.notify_all();
    if (recalls) idle_work_->wake();
}

void thread_pool::wake_worker() noexcept {
    lock_type lock{mutex_};
    wake(lock, std::max<std::size_t>(queue_.size(), 1));
}

/// Blocks until there may be a job to run.
void thread_pool::wait_for_work(lock_type& lock) {
    if (idle_work_ != nullptr) {
        ++in_idle_work_;
        const std::uint32_t seen = wakeup_word_.load(std::memory_order_relaxed);  // read under the lock
        worker::current->is_in_idle_work = true;
        lock.unlock();
        const bool spent = idle_work_->run_idle({wakeup_word_, seen, base::deadline::max()});
        lock.lock();
        worker::current->is_in_idle_work = false;
        --in_idle_work_;
        if (spent || !queue_.empty() || draining_) return;
    }
    ++idle_;
    arrived_.wait(lock);
    --idle_;
}

void thread_pool::work(worker& self, unsigned number) {
    ::pthread_setname_np(::pthread_self(), "tutti-worker");  // the name that tools show
    std::optional<preempt::signal_stack> for_faults;
    try {
        for_faults.emplace();
    } catch (const std::bad_alloc&) {
        // Without this signal stack, a stack overflow of the worker ends the process without a crash report.
    }
    interruption handle;
    self.attach(handle);
    worker::current = &self;
    lock_type lock{mutex_};
    for (;;) {
        while (queue_.empty()) {
            if (draining_) return;
            wait_for_work(lock);
        }
        job& next = queue_.pop();
        ++running_;
        const std::uint64_t call = ++begun_;
        lock.unlock();
        self.begin_job(next, call);
        timeline_.begin(number, next.name, next.priority, call);
        next.run();
        timeline_.end(number, "finished");
        self.end_job();
        lock.lock();
        --running_;
        interrupt_sleepers(lock);
        if (draining_ && running_ == 0 && queue_.empty()) ended_.notify_all();
    }
}

void thread_pool::interrupt(job& which) noexcept {
    for (const auto& w : workers_) {
        if (w->interrupt_if(which)) return;
    }
}

void thread_pool::interrupt_sleeper(job& which) noexcept {
    for (const auto& w : workers_) {
        if (w->interrupt_sleeper_if(which)) return;
    }
}

std::uint64_t thread_pool::run_number_of(job& which) noexcept {
    for (const auto& w : workers_) {
        if (const std::uint64_t run_number = w->run_number_of(which); run_number != 0) return run_number;
    }
    return 0;
}

const job* thread_pool::current() const noexcept {
    return worker::current == nullptr ? nullptr : worker::current->current_job();
}

void thread_pool::forget_interruption() noexcept { worker::current->forget(); }

bool thread_pool::all_are_interrupted() const noexcept {
    const bool others_run = asleep_ != running_ || (!queue_.empty() && running_ != workers_.size());
    return ending_waits_ && asleep_ != 0 && !others_run;
}

void thread_pool::interrupt_sleepers(lock_type& lock) noexcept {
    if (!all_are_interrupted()) return;
    const auto found = std::ranges::find_if(workers_, [](const auto& each) { return each->can_be_ended(); });
    if (found == workers_.end()) return;
    lock.unlock();
    (*found)->interrupt_sleeper_at_shutdown();
    lock.lock();
}

void thread_pool::end_waits() noexcept {
    lock_type lock{mutex_};
    ending_waits_ = true;
    interrupt_sleepers(lock);
}

void thread_pool::drain() {
    {
        lock_type lock{mutex_};
        draining_ = true;
        arrived_.notify_all();
        wakeup_word_.fetch_add(1, std::memory_order_seq_cst);
        if (in_idle_work_ != 0) idle_work_->wake();
        ended_.wait(lock, [this] { return running_ == 0 && queue_.empty(); });
    }
    threads_.clear();
}

load thread_pool::current_load() const {
    load now;
    const std::scoped_lock lock{mutex_};
    for (std::size_t p = 0; p < priority_levels; ++p) {
        now.queued[p] = queue_.size(p);
        now.shed[p] = queue_.shed(p);
    }
    now.running = running_;
    now.capacity = queue_.capacity();
    return now;
}

}  // namespace tutti::server
