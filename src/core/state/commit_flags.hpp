// The word that every update commit reads, without a fence, after it has published.
//
// A context that raises a bit executes a heavy fence afterwards (and may then raise another bit that says so). So a
// commit that did not see the bit had published before that fence, and the context sees everything that the commit
// wrote.
#pragma once

#include "tutti/detail/shared.hpp"

namespace tutti::core {

inline constexpr std::uint32_t flag_plain_memory = 1;         // the process uses plain memory: see quiescence.hpp
inline constexpr std::uint32_t flag_retry_waiters = 2;        // a waiter is in retry: see wakeup.hpp
inline constexpr std::uint32_t flag_plain_memory_fenced = 4;  // flag_plain_memory was raised, and its raiser has fenced
inline constexpr std::uint32_t flag_orphaned_objects = 8;  // ended contexts left objects to destroy; no fence: a hint

inline constinit detail::shared<std::uint32_t> commit_flags{0};

}  // namespace tutti::core
