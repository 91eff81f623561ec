// Where blocks that promised to write nothing have turned out to need a log of their reads, because something votes on
// them: the next execution there has one from its first attempt on, and does not start over for it.
//
// Thread safety: all of it. A place is shared by the sites that fall on it; one that another has taken costs its next
// execution a restart, nothing else, so the order of loads and stores does not matter.
#pragma once

#include <array>
#include <atomic>

#include "core/rollback/signal.hpp"

namespace tutti::core {

inline constinit std::array<std::atomic<const detail::site_slot*>, 64> logged_sites{};

[[nodiscard]] inline std::atomic<const detail::site_slot*>& place_of_log(const detail::call_site& where) noexcept {
    return logged_sites[reinterpret_cast<std::uintptr_t>(where.slot) / sizeof(detail::site_slot) % logged_sites.size()];
}

[[nodiscard]] inline bool expects_log(const detail::call_site& where) noexcept {
    return where.slot != nullptr && place_of_log(where).load(std::memory_order_relaxed) == where.slot;
}

/// need_current_reads for who votes on the transaction, as in every execution of the block.
inline void need_reads_to_vote_on(descriptor& d) {
    if (!d.logging) place_of_log(d.run.where).store(d.run.where.slot, std::memory_order_relaxed);
    need_current_reads(d);
}

}  // namespace tutti::core
