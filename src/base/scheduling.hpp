// What a thread may ask of the kernel's scheduler.
#pragma once

#include <optional>

namespace tutti::base {

/// Lets other threads run that are ready.
void yield() noexcept;

/// The kernel's number of the calling thread.
[[nodiscard]] int thread_number() noexcept;

/// Makes the calling thread nicer by ten and returns how nice it was; nothing happens where it would not be allowed to
/// return (raising a priority takes CAP_SYS_NICE or a limit on RLIMIT_NICE).
[[nodiscard]] std::optional<int> lower_priority() noexcept;
/// Undoes that. Any thread may call it.
void restore_priority(int thread, int nice) noexcept;

}  // namespace tutti::base
