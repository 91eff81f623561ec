// Calls that notify other threads are deferred to the commit, so that those threads find the changes of the block.
// Calls that wait for other threads are not in this file, because such a call might never return. The other threads do
// not see the transaction's changes before its end. While the transaction runs alone, the other threads cannot begin a
// transaction either. Use retry instead.
#include <semaphore.h>

#include <cerrno>
#include <climits>

#include "libc/effects.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

namespace {

/// Returns 0, or ENOMEM if there is no memory to defer the call. POSIX defines no such error, but a lost wake-up would
/// be worse.
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
