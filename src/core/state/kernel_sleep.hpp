// The interface by which a thread sleeps in the kernel until an execution ends. Without this interface, the thread
// sleeps on a word that changes at the end of each attempt. core/ports/kernel_serializer.hpp declares the only
// implementation.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

struct kernel_sleep {
    /// Returns a key on which a thread can sleep until the current execution of `other` ends. Returns 0 if that
    /// execution has no key.
    word (*key_of)(const descriptor& other) noexcept;
    /// Sleeps until that execution is over, until `until`, or for a shorter time. Returns false if the thread cannot
    /// sleep on the key `on`. REQUIRES: `on` is not 0.
    bool (*sleep)(descriptor& self, word on, base::deadline until) noexcept;
};

}  // namespace tutti::core
