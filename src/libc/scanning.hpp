// scanf's formats in a transaction. All arguments of scanf are pointers. So glibc's own scanf runs on private bytes of
// the input, and stores its results in private places. Then these results are written to the program's memory through
// barriers.
//
// To find out which bytes scanf has stored, this class runs scanf twice, and fills the places with different bytes
// before each run. A byte that is the same after both runs was stored. So this code need not know which conversions
// glibc has reached.
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

    /// Parses the format and reads the pointers from `arguments`. Returns false and sets errno to ENOMEM if there is no
    /// memory.
    [[nodiscard]] bool prepare(const char* format, va_list arguments);

    enum class outcome : unsigned char {
        found,       ///< the result does not depend on what follows the bytes
        wants_more,  ///< the scan reached the end of the bytes
        failed,      ///< errno is ENOMEM
    };
    /// Scans `size` private bytes, which a zero follows. The result replaces that of the previous call. `used` is the
    /// number of bytes that the scan has consumed. `error` is the error that ended the input, or 0.
    [[nodiscard]] outcome over(const char* bytes, std::size_t size, std::size_t& used, int error = 0);
    /// Scans the bytes of a complete string.
    [[nodiscard]] bool over_string(const char* string, std::size_t size);

    /// Writes the latest result to the program's memory. Returns what scanf returns, and sets errno like scanf.
    int deliver();
    /// Frees the memory that the latest result refers to. Called before another scan, or if the result is not needed.
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
    void** pointers_ = nullptr;  ///< the arguments that glibc receives
    char* room_ = nullptr;
    std::size_t room_size_ = 0;
    std::size_t filled_ = 0;  ///< half of the used part of the room
    int result_ = 0;
    int error_ = 0;  ///< errno before the call
    int last_error_ = 0;
    bool holds_ = false;
};

}  // namespace tutti::libc
