// A word of flags that every update commit reads after it has published, without a fence.
//
// A context that sets a bit executes a heavy fence afterwards. (It may then set another bit, which shows that the fence
// was executed.) So a commit that did not see the bit had published before that fence, and the context sees everything
// that the commit wrote.
#pragma once

#include "tutti/detail/shared.hpp"

namespace tutti::core {

inline constexpr std::uint32_t flag_plain_memory = 1;         // the process uses plain memory: see quiescence.hpp
inline constexpr std::uint32_t flag_retry_waiters = 2;        // a waiter is in retry: see wakeup.hpp
inline constexpr std::uint32_t flag_plain_memory_fenced = 4;  // flag_plain_memory is set, and a heavy fence followed
inline constexpr std::uint32_t flag_orphaned_objects = 8;  // ended contexts left objects to destroy; no fence: a hint

inline constinit detail::shared<std::uint32_t> commit_flags{0};

}  // namespace tutti::core
