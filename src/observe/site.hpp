// A site: one atomic block of the source, or a name that the program gives to blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tutti/detail/operations.hpp"

namespace tutti::observe {

struct site {
    std::uint32_t id;
    std::string name;
    std::string file;
    std::string function;
    unsigned line;
    const char* given_name;  // the pointer that was given; saves comparing the text
    std::atomic<const char*> irrevocable_reason{nullptr};
    std::atomic<void*> deadlines{nullptr};  // core/modes/site_times.hpp; set when a block with a deadline has run here
};

/// Return the place of a call. If the call came through the C interface, its slot contains a mark.
inline bool is_in_c(const detail::call_site& where) noexcept { return where.slot->file != nullptr; }
inline const char* file_of(const detail::call_site& where) noexcept {
    return is_in_c(where) ? where.slot->file : where.at.file_name();
}
inline unsigned line_of(const detail::call_site& where) noexcept {
    return is_in_c(where) ? where.slot->line : where.at.line();
}

/// Returns the site of a call, and creates the site at the first call. The call's slot remembers the first site, so
/// that two loads find the site of a block that always has the same name, or no name. Throws std::bad_alloc.
site& site_of(const detail::call_site& where, const char* given_name);

/// Returns site number `id`. REQUIRES: id < sites().
[[nodiscard]] const site& site_number(std::uint32_t id);
[[nodiscard]] std::uint32_t sites();

/// Lock and unlock the registration of sites in all threads, for a fork (core/lifecycle/fork.hpp).
void lock_sites() noexcept;
void unlock_sites() noexcept;

}  // namespace tutti::observe
