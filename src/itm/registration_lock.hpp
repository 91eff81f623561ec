// The lock of lists that change rarely: clone tables and sites. fork holds it, so that a child never inherits it
// locked.
//
// A thread that holds this lock may take only two kinds of locks. One is the lock of the heap. The others are those of
// the registry of descriptors, to retire a list; fork takes them in the same order. The thread must not take the
// dynamic linker's lock: a thread that runs a constructor holds that lock and may wait for this one.
#pragma once

#include <mutex>

namespace tutti::itm {

inline constinit std::mutex registration_lock;

}  // namespace tutti::itm
