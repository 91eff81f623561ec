// printf's wide formats in a transaction: makes private copies of the format and of the data to which its arguments
// point.
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

    /// Copies every argument that the format uses. Returns false and sets errno to ENOMEM on failure.
    [[nodiscard]] bool copy(const wchar_t* format, va_list arguments);

    using list = std::remove_reference_t<decltype(*std::declval<va_list&>())>;
    [[nodiscard]] const wchar_t* format() const noexcept { return format_; }
    /// Returns the arguments for one call, starting with the first argument.
    [[nodiscard]] list* arguments() noexcept;
    /// Writes the counts of %n to the program's memory.
    void store_counts();

private:
    const void* string(const void* from, bool wide, std::size_t limit);

    tx& t_;
    const wchar_t* format_ = nullptr;
    wchar_t room_[128];
    std::size_t count_ = 0;
    int* types_ = nullptr;
    std::uint64_t* given_ = nullptr;  ///< the program's pointers; the index is the number of the argument
    long* counted_ = nullptr;         ///< the places where glibc stores counts for %n
    std::uint64_t* slots_ = nullptr;
    // A va_list on x86-64 whose arguments are all in memory; see the ABI's section on variable argument lists.
    struct {
        unsigned general_offset, float_offset;
        void* overflow;
        void* saved;
    } tag_{};
};

}  // namespace tutti::libc
