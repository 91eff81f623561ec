// A procedure that notices changes of its state when it continues on another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

struct migrating_call {
    int seed;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<int> thread{0};  // the kernel's number of the current thread
    std::atomic<int> moves{0};   // number of changes of the thread
    std::atomic<bool> right{false};
};
/// Keeps a value in errno, one in a thread_local, one in a handled exception, and the addresses of the first two.
/// Reports whether all of them kept their values, and whether each thread has kept its alternate signal stack.
void run_migrating(void* of_migrating_call) noexcept;

}  // namespace procedures
