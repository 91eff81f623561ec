#include "server/net/fork_guard.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace tutti::server {
namespace {

struct guarded {
    std::mutex mutex;
    std::vector<int> listeners;
};

/// The object lives as long as the process, because fork may be called even at the end of the process.
guarded& all() {
    static auto* const g = new guarded;
    return *g;
}

void before_fork() { all().mutex.lock(); }
void in_parent() { all().mutex.unlock(); }

// The descriptor numbers stay in use. Otherwise, a file that the child opens later could get such a number, and the
// child would close this file instead of the listener.
void in_child() {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int listener : all().listeners) {
        if (nothing < 0) ::close(listener);
        else ::dup3(nothing, listener, O_CLOEXEC);
    }
    if (nothing >= 0) ::close(nothing);
    all().mutex.unlock();
}

}  // namespace

fork_guard::fork_guard(int listener) : listener_{listener} {
    static const bool watched = ::pthread_atfork(before_fork, in_parent, in_child) == 0;
    if (!watched) throw std::bad_alloc{};
    const std::scoped_lock lock{all().mutex};
    all().listeners.push_back(listener_);
}

fork_guard::~fork_guard() {
    const std::scoped_lock lock{all().mutex};
    std::erase(all().listeners, listener_);
}

}  // namespace tutti::server
