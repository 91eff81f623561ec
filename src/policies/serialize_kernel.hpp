// serialize-kernel and serialize-soft-kernel: hard and soft serialization with the kernel's help (SER-K and SOFTSER-K
// of Maldonado et al., 5), where the module is loaded (core/ports/kernel_serializer.hpp).
//
// The first is `serialize`, but for where the loser sleeps: for the whole execution of the winner, and not from one of
// its attempts to the next, and also until the end of a thread that does not commit. The second is `serialize-soft`,
// but the kernel lowers the loser's weight and raises it again, which takes no right of the process's.
//
// Where the kernel cannot help, be it for one pair of transactions, they are `serialize` and `serialize-soft`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_kernel;
extern const core::policy serialize_soft_kernel;

}  // namespace tutti::policies
