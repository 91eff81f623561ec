// errno belongs to the program: system calls of the runtime, in a barrier or while it waits, must not change it.
#pragma once

#include <cerrno>

namespace tutti::base {

/// Restores errno at the end of its life.
class kept_errno {
public:
    kept_errno() noexcept : error_{errno} {}
    ~kept_errno() { errno = error_; }
    kept_errno(const kept_errno&) = delete;
    kept_errno& operator=(const kept_errno&) = delete;

private:
    int error_;
};

}  // namespace tutti::base
