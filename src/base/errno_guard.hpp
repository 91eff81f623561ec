// Keeps errno unchanged. The runtime makes system calls in barriers and in waits, but errno belongs to the program.
#pragma once

#include <cerrno>

namespace tutti::base {

/// Restores errno at the end of its life.
class errno_guard {
public:
    errno_guard() noexcept : error_{errno} {}
    ~errno_guard() { errno = error_; }
    errno_guard(const errno_guard&) = delete;
    errno_guard& operator=(const errno_guard&) = delete;

private:
    int error_;
};

}  // namespace tutti::base
