// A library that takes a lock, so that it must not be interrupted.
#pragma once

#include <atomic>

namespace libraries {

/// Says that it is `inside` for the n-th time, and stays until told to `go` as often.
void stay(std::atomic<int>& inside, const std::atomic<int>& go, int n) noexcept;

/// Adds what it gets in every place in which a function gets arguments.
double add(int a, int b, int c, int d, int e, int f, int g, double h, double i, double j, double k, double l, double m,
           double n, double o, double p) noexcept;

/// Stays as above once, and forks. In the parent, waits for the child, and returns what waitpid stores; -1 in the
/// child.
int stay_and_fork(std::atomic<int>& inside, const std::atomic<int>& go) noexcept;

/// Takes and releases the lock.
void lock_once() noexcept;

}  // namespace libraries
