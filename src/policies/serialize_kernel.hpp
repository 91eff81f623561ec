// serialize-kernel and serialize-soft-kernel: hard and soft serialization with the kernel's help (SER-K and SOFTSER-K
// of Maldonado et al., 5), if the module is loaded (core/ports/kernel_serializer.hpp).
//
// The first differs from `serialize` in the loser's sleep. The sleep lasts for the winner's whole execution, not from
// one of its attempts to the next. It also ends if the winner's thread ends without a commit. The second differs from
// `serialize-soft` in that the kernel lowers the loser's weight and raises it again, so the process needs no privilege.
//
// If the kernel cannot help, even if only for one pair of transactions, they are `serialize` and `serialize-soft`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_kernel;
extern const core::policy serialize_soft_kernel;

}  // namespace tutti::policies
