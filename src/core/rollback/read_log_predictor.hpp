// A table of blocks that promised to write nothing, but needed a log of their reads, because a participant voted on
// them. The next execution of such a block logs its reads from its first attempt on, and so avoids a restart.
//
// Thread safety: any thread may call any function. Sites share the entries of the table. A site whose entry was
// overwritten only has one more restart at its next execution, so the order of loads and stores does not matter.
#pragma once

#include <array>
#include <atomic>

#include "core/rollback/signal.hpp"

namespace tutti::core {

inline constinit std::array<std::atomic<const detail::site_slot*>, 64> logged_sites{};

[[nodiscard]] inline std::atomic<const detail::site_slot*>& read_log_slot(const detail::call_site& where) noexcept {
    return logged_sites[reinterpret_cast<std::uintptr_t>(where.slot) / sizeof(detail::site_slot) % logged_sites.size()];
}

[[nodiscard]] inline bool predicts_read_log(const detail::call_site& where) noexcept {
    return where.slot != nullptr && read_log_slot(where).load(std::memory_order_relaxed) == where.slot;
}

/// Does what need_current_reads does, for a participant that votes on the transaction in every execution of the block.
inline void need_reads_for_vote(descriptor& d) {
    if (!d.logging) read_log_slot(d.run.where).store(d.run.where.slot, std::memory_order_relaxed);
    need_current_reads(d);
}

}  // namespace tutti::core
