// A guard against SIGPIPE, for libraries that write to sockets without MSG_NOSIGNAL.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace tutti::base {

/// While a guard lives, a write to a connection that the peer has closed raises no SIGPIPE in this thread. The
/// program's own handling of SIGPIPE does not change.
class sigpipe_guard {
public:
    sigpipe_guard() noexcept {
        ::sigemptyset(&pipe_);
        ::sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~sigpipe_guard() {
        constexpr timespec at_once{};
        if (!was_pending_) static_cast<void>(::sigtimedwait(&pipe_, nullptr, &at_once));
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    sigpipe_guard(const sigpipe_guard&) = delete;
    sigpipe_guard& operator=(const sigpipe_guard&) = delete;

private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

}  // namespace tutti::base
