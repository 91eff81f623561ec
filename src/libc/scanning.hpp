// scanf's formats in a transaction. All that scanf is given are pointers, so glibc's own scanf runs on private bytes of
// the input, with private places instead of the program's, and what it stored is then written through barriers.
//
// What it stored is found out by running it twice, over places that were filled with different bytes before: a byte
// that is the same afterwards was stored. So nothing here repeats which conversions glibc has come to.
#pragma once

#include <cstdarg>
#include <cstddef>

#include "libc/context.hpp"

namespace tutti::libc {

class scan {
public:
    explicit scan(tx& t) noexcept : t_{t} {}
    scan(const scan&) = delete;
    scan& operator=(const scan&) = delete;

    /// Reads the format, and takes the pointers from `arguments`. False, and errno is ENOMEM: there is no memory.
    [[nodiscard]] bool prepare(const char* format, va_list arguments);

    enum class outcome : unsigned char {
        found,       ///< whatever follows the bytes
        wants_more,  ///< it came to their end
        failed,      ///< errno is ENOMEM
    };
    /// Scans `size` private bytes, behind which stands a zero. The result replaces that of the call before. `used` says
    /// how many of the bytes it has taken. `error`: the input ended by it; 0: it did not, or at its end.
    [[nodiscard]] outcome over(const char* bytes, std::size_t size, std::size_t& used, int error = 0);
    /// The same of all that there is, a string.
    [[nodiscard]] bool over_string(const char* string, std::size_t size);

    /// Writes the latest result to the program's memory. Returns what scanf returns, and sets errno as it does.
    int deliver();
    /// Gives back what the latest result holds of memory: there will be another, or nobody wants it.
    void drop() noexcept;

private:
    struct target;
    template <class Call>
    bool both(std::size_t size, Call call);
    void place(char* room, std::size_t size, unsigned char filling) noexcept;
    std::size_t room_for(std::size_t size) const noexcept;

    tx& t_;
    char* format_ = nullptr;
    target* targets_ = nullptr;  ///< one for each argument
    std::size_t count_ = 0;
    void** pointers_ = nullptr;  ///< the arguments that glibc gets
    char* room_ = nullptr;
    std::size_t room_size_ = 0;
    std::size_t filled_ = 0;  ///< half of what of the room is in use
    int result_ = 0;
    int error_ = 0;  ///< errno before the call
    int last_error_ = 0;
    bool holds_ = false;
};

}  // namespace tutti::libc
