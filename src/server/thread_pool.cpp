#include "server/thread_pool.hpp"

#include <pthread.h>
#include <new>

#include "tutti/interrupt.hpp"

namespace tutti::server {

/// What a worker runs, for those who want to interrupt it.
class thread_pool::worker {
public:
    void take_up(job& j) {
        const std::scoped_lock lock{mutex_};
        current_ = &j;
    }
    void put_down() {
        const std::scoped_lock lock{mutex_};
        current_ = nullptr;
        if (raised_) handle_->lower();
        raised_ = false;
    }
    bool interrupt_if(const job& j) noexcept {
        const std::scoped_lock lock{mutex_};
        if (current_ != &j) return false;
        raised_ = true;
        handle_->raise();
        return true;
    }
    void attach(interruption& handle) noexcept { handle_ = &handle; }

private:
    std::mutex mutex_;
    job* current_ = nullptr;
    interruption* handle_ = nullptr;
    bool raised_ = false;
};

thread_pool::thread_pool(unsigned workers, std::size_t capacity, timeline& shown) : capacity_{capacity}, shown_{shown} {
    for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<worker>());
    for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(*workers_[i], i); });
}

thread_pool::~thread_pool() = default;

std::size_t thread_pool::submit(std::span<job* const> jobs) {
    std::size_t accepted = 0;
    std::size_t to_wake = 0;
    {
        const std::scoped_lock lock{mutex_};
        if (draining_) return 0;
        try {
            for (; accepted < jobs.size() && queue_.size() < capacity_; ++accepted) queue_.push(*jobs[accepted]);
        } catch (const std::bad_alloc&) {
            // No room for the next one, which is what a full queue means to its caller.
        }
        to_wake = std::min(idle_, accepted);
    }
    if (to_wake == 1) arrived_.notify_one();
    else if (to_wake > 1) arrived_.notify_all();
    return accepted;
}

void thread_pool::work(worker& self, unsigned number) {
    ::pthread_setname_np(::pthread_self(), "tutti-worker");  // as tools show it
    interruption handle;
    self.attach(handle);
    std::unique_lock lock{mutex_};
    for (;;) {
        while (queue_.empty()) {
            if (draining_) return;
            ++idle_;
            arrived_.wait(lock);
            --idle_;
        }
        job& next = queue_.pop();
        ++running_;
        const std::uint64_t call = ++begun_;
        lock.unlock();
        self.take_up(next);
        shown_.begin(number, next.name, next.priority, call);
        next.run();
        shown_.end(number, "finished");
        self.put_down();
        lock.lock();
        --running_;
        if (draining_ && running_ == 0 && queue_.empty()) ended_.notify_all();
    }
}

void thread_pool::interrupt(job& which) noexcept {
    for (const auto& w : workers_) {
        if (w->interrupt_if(which)) return;
    }
}

void thread_pool::drain() {
    {
        std::unique_lock lock{mutex_};
        draining_ = true;
        arrived_.notify_all();
        ended_.wait(lock, [this] { return running_ == 0 && queue_.empty(); });
    }
    threads_.clear();
}

load thread_pool::current_load() const {
    load now;
    const std::scoped_lock lock{mutex_};
    for (std::size_t p = 0; p < priority_levels; ++p) now.standing[p] = queue_.size(p);
    now.running = running_;
    now.capacity = capacity_;
    return now;
}

}  // namespace tutti::server
