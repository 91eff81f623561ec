// The computing of a profile inside its transaction, in addition to its accesses.
//
// Silvestri et al., "Preemptive Software Transactional Memory", table I, measured times from less than 10 us (Payment)
// to 5 ms (Delivery); here all profiles take microseconds. To repeat that experiment, each profile computes for that
// time in equal parts between its accesses. The profile works instead of waiting, and counts steps. So an interrupted
// transaction still has the rest of its work to do, and each run computes the same. A microsecond is that of a
// processor with 2.8 GHz.
#pragma once

#include <cstdint>

namespace tpcc {

class demand {
public:
    // Microseconds of a whole transaction, at 100 percent.
    static constexpr double delivery = 5000, stock_level = 650, new_order = 350, order_status = 8, payment = 5;

    /// `percent` of the paper's times; 0: no computing.
    explicit demand(int percent = 0) noexcept : steps_in_microsecond_{7.0 * percent} {}

    void compute(double microseconds) const noexcept {
        if (steps_in_microsecond_ != 0) take(static_cast<std::uint64_t>(microseconds * steps_in_microsecond_));
    }

private:
    /// Each step needs the result of the previous one: four cycles.
    static void take(std::uint64_t steps) noexcept {
        std::uint64_t x = steps;
        for (; steps != 0; --steps) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            asm volatile("" : "+r"(x));  // otherwise the compiler would remove a loop with an unused result
        }
    }

    double steps_in_microsecond_;
};

}  // namespace tpcc
