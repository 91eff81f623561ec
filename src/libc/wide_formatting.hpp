// printf's wide formats in a transaction: a private copy of the format and of all that its arguments point to.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "libc/context.hpp"

namespace tutti::libc {

/// Arguments for one call of vswprintf or vfwprintf.
class wide_format {
public:
    explicit wide_format(tx& t) noexcept : t_{t} {}
    wide_format(const wide_format&) = delete;
    wide_format& operator=(const wide_format&) = delete;

    /// False, and errno is ENOMEM. It takes every argument that the format names.
    [[nodiscard]] bool copy(const wchar_t* format, va_list arguments);

    using list = std::remove_reference_t<decltype(*std::declval<va_list&>())>;
    [[nodiscard]] const wchar_t* format() const noexcept { return format_; }
    /// For one call, from the first argument on.
    [[nodiscard]] list* arguments() noexcept;
    /// Writes what %n has counted to where the program wants it.
    void store_counts();

private:
    const void* string(const void* from, bool wide, std::size_t limit);

    tx& t_;
    const wchar_t* format_ = nullptr;
    wchar_t room_[128];
    std::size_t count_ = 0;
    int* types_ = nullptr;
    std::uint64_t* given_ = nullptr;  ///< pointers of the program's, by the number of the argument
    long* counted_ = nullptr;         ///< where glibc stores for %n
    std::uint64_t* slots_ = nullptr;
    // What a va_list is on x86-64, with all arguments in memory; see the ABI's section on variable argument lists.
    struct {
        unsigned general_offset, float_offset;
        void* overflow;
        void* saved;
    } tag_{};
};

}  // namespace tutti::libc
