// printf's formats in a transaction. The arguments are read through barriers, and the resulting text is in private
// memory.
#pragma once

#include <cstdarg>
#include <cstddef>

#include "libc/context.hpp"

namespace tutti::libc {

/// The text that a format produces. glibc formats one conversion after the other, from private copies of the strings.
class text_of_format {
public:
    explicit text_of_format(tx& t) noexcept : t_{t} {}
    text_of_format(const text_of_format&) = delete;
    text_of_format& operator=(const text_of_format&) = delete;

    /// Formats the arguments. Returns false and sets errno if the text is too long, memory runs out, or glibc rejects a
    /// conversion. The text then ends before that conversion.
    [[nodiscard]] bool format(const char* format, va_list arguments);

    /// Returns the text, which has no terminating 0.
    [[nodiscard]] const char* begin() const noexcept { return text_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    struct conversion;
    union value;

    bool append(const char* text, std::size_t size);
    bool reserve(std::size_t more);
    bool print(const conversion& c, const value* values, int error);
    bool print_string(const char* spec, const conversion& c, const void* string);
    template <class T>
    bool print_as(const char* spec, T printed);
    void store_count(const conversion& c, void* to);

    tx& t_;
    std::size_t size_ = 0;
    std::size_t room_ = sizeof local_;
    char* text_ = local_;
    char local_[512];
};

}  // namespace tutti::libc
