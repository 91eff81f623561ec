#include "preempt/libraries/computing.hpp"

namespace libraries {

void compute(std::atomic<bool>& begun, const std::atomic<bool>& stop) noexcept {
    begun.store(true);
    while (!stop.load()) asm volatile("");
}

}  // namespace libraries
