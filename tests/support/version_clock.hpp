// Advances the version clock to the value of years of commits.
#pragma once

#include "algorithms/version_clock.hpp"

namespace tutti::support {

using algorithms::version_clock;

// The clock's words are private, but this file accesses them. The arguments of an explicit instantiation are exempt
// from access checks ([temp.spec.general]/6).
auto* word_of_the_clock();
template <auto* Word>
struct key_of_clock {
    friend auto* word_of_the_clock() { return Word; }
};
template struct key_of_clock<&version_clock::clock_>;
auto* words_of_the_era();
template <auto* Words>
struct key_of_era {
    friend auto* words_of_the_era() { return Words; }
};
template struct key_of_era<&version_clock::era_>;

[[nodiscard]] inline core::word version_clock_time() {
    return version_clock::time_in(word_of_the_clock()->now.load(std::memory_order_seq_cst));
}
[[nodiscard]] inline core::word era_number() { return words_of_the_era()->number.load(std::memory_order_relaxed); }
[[nodiscard]] inline std::uint32_t failed_advances() {
    return words_of_the_era()->failures.load(std::memory_order_relaxed);
}

/// Advances the clock to `time`, as commits of other threads would. Does nothing if the clock is later. Transactions
/// may run.
inline void advance_clock_to(core::word time) {
    auto& now = word_of_the_clock()->now;
    core::word seen = now.load(std::memory_order_relaxed);
    constexpr core::word below_time = (core::word{1} << version_clock::time_shift) - 1;
    while (version_clock::time_in(seen) < time) {
        const core::word next = time << version_clock::time_shift | (seen & below_time);
        if (now.compare_exchange(seen, next, std::memory_order_seq_cst)) return;
    }
}

}  // namespace tutti::support
