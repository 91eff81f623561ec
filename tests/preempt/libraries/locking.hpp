// A library that takes a lock, so it must not be interrupted.
#pragma once

#include <atomic>

namespace libraries {

/// Sets `inside` to n, and stays until `go` has reached n.
void stay(std::atomic<int>& inside, const std::atomic<int>& go, int n) noexcept;

/// Adds its arguments, which use every place in which a function gets arguments.
double add(int a, int b, int c, int d, int e, int f, int g, double h, double i, double j, double k, double l, double m,
           double n, double o, double p) noexcept;

/// Stays in the library once, as `stay` does, and forks. The parent waits for the child, and returns the status that
/// waitpid stores. The child returns -1.
int stay_and_fork(std::atomic<int>& inside, const std::atomic<int>& go) noexcept;

/// Takes and releases the lock.
void lock_once() noexcept;

}  // namespace libraries
