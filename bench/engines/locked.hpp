// One lock around every block.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "engines/plain.hpp"

namespace bench {

/// A test-and-test-and-set lock, with the processor's hint to its sibling. Never sleeps or yields.
class spin_lock {
public:
    void lock() noexcept {
        while (taken_.exchange(true, std::memory_order_acquire)) {
            while (taken_.load(std::memory_order_relaxed)) relax();
        }
    }
    void unlock() noexcept { taken_.store(false, std::memory_order_release); }

private:
    static void relax() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    std::atomic<bool> taken_{false};
};

template <class Lock>
struct locked : plain_engine {
    template <class Body>
    static auto read(Body body) {
        const std::lock_guard hold{global_lock};
        context c;
        return body(c);
    }
    template <class Body>
    static auto update(Body body) {
        return read(body);
    }

protected:
    alignas(128) static inline Lock global_lock;
};

/// Readers share the lock.
struct shared_mutex : locked<std::shared_mutex> {
    static constexpr const char* name = "shared-mutex";

    template <class Body>
    static auto read(Body body) {
        const std::shared_lock hold{global_lock};
        context c;
        return body(c);
    }
};

struct mutex : locked<std::mutex> {
    static constexpr const char* name = "mutex";
};
struct spin : locked<spin_lock> {
    static constexpr const char* name = "spin";
};

}  // namespace bench
