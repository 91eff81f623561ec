// Writes to a socket by libraries that know no MSG_NOSIGNAL.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace tutti::base {

/// While it lives, a write to a peer that has gone raises no signal in this thread: what the program does about SIGPIPE
/// is its own affair.
class without_sigpipe {
public:
    without_sigpipe() noexcept {
        ::sigemptyset(&pipe_);
        ::sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~without_sigpipe() {
        constexpr timespec at_once{};
        if (!was_pending_) static_cast<void>(::sigtimedwait(&pipe_, nullptr, &at_once));
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    without_sigpipe(const without_sigpipe&) = delete;
    without_sigpipe& operator=(const without_sigpipe&) = delete;

private:
    sigset_t pipe_{}, before_{};
    bool was_pending_ = false;
};

}  // namespace tutti::base
