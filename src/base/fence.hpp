// Asymmetric fences: the frequent side pays for a compiler barrier, the rare side for a system call.
//
// Guarantee. If one thread does   store A; light_fence(); load B
// and another does                store B; heavy_fence(); load A
// then at least one of the loads sees the other's store. membarrier(2) makes every running thread of the process pass
// a full fence, so each light fence is ordered before or after it as if it were one.
#pragma once

#include <atomic>

namespace tutti::base {

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// About 0.1 us while one thread runs, 2 us otherwise.
void heavy_fence() noexcept;
/// In the child of a fork, where a thread that was in a heavy fence is gone. REQUIRES: there is no other thread.
void forget_others_fences() noexcept;

}  // namespace tutti::base
