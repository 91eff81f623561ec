// The policies serialize-kernel and serialize-soft-kernel: hard and soft serialization with the kernel's help (SER-K
// and SOFTSER-K of Maldonado et al., section 5), if the module is loaded (core/ports/kernel_serializer.hpp).
//
// serialize-kernel differs from `serialize` in the loser's sleep, which lasts for the winner's whole execution instead
// of one attempt. The sleep also ends if the winner's thread ends without a commit. In contrast to `serialize-soft`,
// serialize-soft-kernel needs no privilege, because the kernel lowers the loser's weight and raises it again.
//
// If the kernel cannot help, even for only one pair of transactions, the policies act like `serialize` and
// `serialize-soft`.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy serialize_kernel;
extern const core::policy serialize_soft_kernel;

}  // namespace tutti::policies
