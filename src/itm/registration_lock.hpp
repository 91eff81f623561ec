// The lock of lists that change rarely: clone tables and sites. fork holds the lock, so that a child never starts with
// the lock held by a thread that exists only in the parent.
//
// A thread that holds this lock may acquire only two kinds of locks: the heap's lock, and, to retire a list, the locks
// of the registry of descriptors. fork acquires the locks in the same order. The thread must not acquire the dynamic
// linker's lock, because a thread that runs a constructor holds that lock and may wait for this one.
#pragma once

#include <mutex>

namespace tutti::itm {

inline constinit std::mutex registration_lock;

}  // namespace tutti::itm
