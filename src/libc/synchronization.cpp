// Calls that notify other threads wait for the commit, so that those threads find the change. Calls that wait for other
// threads are not here. A transaction that runs alone would wait for one that must not begin, and its own changes are
// invisible until it has ended (use retry).
#include <semaphore.h>

#include <cerrno>
#include <climits>

#include "libc/effects.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

namespace {

/// Returns 0, or ENOMEM if there is no memory to delay the call. POSIX defines no such error, but a lost wake-up is
/// worse.
template <class Call>
int after_commit(tx& t, Call call) {
    const auto later = [call] { call(); };
    if (defer(t, detail::handler_point::on_commit, later)) return 0;
    return ENOMEM;
}

}  // namespace

int pthread_cond_signal(tx& t, pthread_cond_t* c) {
    return after_commit(t, [c] { ::pthread_cond_signal(c); });
}
int pthread_cond_broadcast(tx& t, pthread_cond_t* c) {
    return after_commit(t, [c] { ::pthread_cond_broadcast(c); });
}

int sem_post(tx& t, sem_t* s) {
    int value = 0;
    if (::sem_getvalue(s, &value) != 0) return -1;
    if (value == SEM_VALUE_MAX) {
        errno = EOVERFLOW;
        return -1;
    }
    return defer(t, detail::handler_point::on_commit, [s] { ::sem_post(s); }) ? 0 : -1;
}

}  // namespace tutti::libc
