// Asymmetric fences: the frequent side costs only a compiler barrier, and the rare side costs a system call.
//
// Guarantee. If one thread does   store A; light_fence(); load B
// and another does                store B; heavy_fence(); load A
// then at least one of the loads sees the other thread's store. membarrier(2) makes every running thread of the process
// execute a full fence. So each light fence is ordered before or after the heavy fence as if it were a full fence.
#pragma once

#include <atomic>

namespace tutti::base {

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Executes the heavy fence, which orders all light fences of the process. Takes about 0.1 us while one thread runs, 2
/// us otherwise.
void heavy_fence() noexcept;
/// Resets the lock of the fall-back in the child of a fork, because the lock's holder does not exist in the child.
/// REQUIRES: no other thread exists.
void reset_fences_in_fork_child() noexcept;

}  // namespace tutti::base
