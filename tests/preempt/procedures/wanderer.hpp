// A procedure that notices what changes under it when it goes on on another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace procedures {

struct wanderer {
    int seed;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> turns{0};
    std::atomic<int> thread{0};  // the kernel's number of the one it runs on
    std::atomic<int> moves{0};   // how often that was another than before
    std::atomic<bool> right{false};
};
/// Keeps a value in errno, one in a thread_local, one in an exception that it handles, and the addresses of the first
/// two; says whether all of them always read as they were written, and each thread has kept its alternate signal stack.
void wander(void* of_wanderer) noexcept;

}  // namespace procedures
