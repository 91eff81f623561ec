// A site: one atomic block of the source, or one name given to blocks.
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
    const char* given_name;  // the pointer that was given, which spares comparing the text
    std::atomic<const char*> irrevocable_reason{nullptr};
    std::atomic<void*> deadlines{nullptr};   // core/modes/site_times.hpp, once a block with a deadline has run here
    std::atomic<void*> contention{nullptr};  // what a policy knows of it; never freed
};

/// Where a call is. A call of the C interface says so in its slot.
inline bool is_in_c(const detail::call_site& where) noexcept { return where.slot->file != nullptr; }
inline const char* file_of(const detail::call_site& where) noexcept {
    return is_in_c(where) ? where.slot->file : where.at.file_name();
}
inline unsigned line_of(const detail::call_site& where) noexcept {
    return is_in_c(where) ? where.slot->line : where.at.line();
}

/// The site of a call; makes it at the first call. The call's slot remembers the first one, so that a block with one
/// name, or none, is found by two loads. Throws std::bad_alloc.
site& site_of(const detail::call_site& where, const char* given_name);

/// REQUIRES: id < sites().
[[nodiscard]] const site& site_number(std::uint32_t id);
[[nodiscard]] std::uint32_t sites();

/// While the process is copied (core/lifecycle/fork.hpp), so that no thread is in the middle of registering one.
void hold_sites() noexcept;
void let_go_of_sites() noexcept;

}  // namespace tutti::observe
