// How a thread sleeps in the kernel for an execution, and not on a word that each end of an attempt changes:
// core/ports/kernel_serializer.hpp has the one way there is.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

struct kernel_sleep {
    /// What to sleep on for the execution that `other` is in; 0: there is nothing.
    word (*look)(const descriptor& other) noexcept;
    /// Returns when that execution is over, at `until`, or earlier. False: it cannot be slept on. REQUIRES: `on` not 0.
    bool (*sleep)(descriptor& self, word on, base::deadline until) noexcept;
};

}  // namespace tutti::core
