// Many threads: threads that sleep, threads that have ended, and threads that all begin at the same time.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace bench::growth {

/// Sets the stack size of the threads that are created while it lives.
class stack_size {
public:
    explicit stack_size(std::size_t bytes) {
        pthread_attr_t attributes;
        pthread_getattr_default_np(&attributes);
        pthread_attr_getstacksize(&attributes, &before_);
        pthread_attr_destroy(&attributes);
        set(bytes);
    }
    ~stack_size() { set(before_); }
    stack_size(const stack_size&) = delete;
    stack_size& operator=(const stack_size&) = delete;

private:
    static void set(std::size_t bytes) {
        pthread_attr_t attributes;
        pthread_getattr_default_np(&attributes);
        pthread_attr_setstacksize(&attributes, bytes);
        pthread_setattr_default_np(&attributes);
        pthread_attr_destroy(&attributes);
    }

    std::size_t before_ = 0;
};

/// Creates `count` threads, each of which has run `once()` and then sleeps. The threads end with this object.
class idle_threads {
public:
    idle_threads(std::size_t count, const std::function<void()>& once) {
        const stack_size small{128 * 1024};
        std::latch all{static_cast<std::ptrdiff_t>(count)};
        threads_.reserve(count);
        for (std::size_t i = 0; i != count; ++i) {
            threads_.emplace_back([this, &once, &all] {
                once();
                all.count_down();
                over_.wait(false);
            });
        }
        all.wait();
    }
    ~idle_threads() {
        over_ = true;
        over_.notify_all();
    }
    idle_threads(const idle_threads&) = delete;
    idle_threads& operator=(const idle_threads&) = delete;

private:
    std::atomic<bool> over_{false};
    std::vector<std::jthread> threads_;
};

/// Returns the seconds from the moment when the threads may begin `work(index)` until the last thread is done.
template <class Work>
double seconds_together(std::size_t count, const Work& work) {
    using clock = std::chrono::steady_clock;
    const stack_size small{128 * 1024};
    std::latch ready{static_cast<std::ptrdiff_t>(count)}, done{static_cast<std::ptrdiff_t>(count)};
    std::atomic<bool> go{false};
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i != count; ++i) {
        threads.emplace_back([&, i] {
            ready.count_down();
            go.wait(false);
            work(i);
            done.count_down();
        });
    }
    ready.wait();
    const auto start = clock::now();
    go = true;
    go.notify_all();
    done.wait();
    return std::chrono::duration<double>(clock::now() - start).count();
}

}  // namespace bench::growth
