#include "preempt/procedures/library_callers.hpp"

#include <unistd.h>

#include "preempt/libraries/computing.hpp"
#include "preempt/libraries/locking.hpp"
#include "tutti/server/no_preemption_guard.hpp"

namespace procedures {
namespace {

double add_from(int n) noexcept {
    return libraries::add(n, 2, 3, 4, 5, 6, 7, 0.5 * n, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5);
}

}  // namespace

void call_libraries(void* of_caller) noexcept {
    auto& c = *static_cast<caller*>(of_caller);
    for (int n = 1; n <= c.rounds; ++n) {
        libraries::stay(c.inside, c.go, n);
        if (add_from(n) != 1.5 * n + 67) c.right = false;
    }
    libraries::lock_once();
    c.done = true;
}

void call_libraries_unpreempted(void* of_caller) noexcept {
    auto& c = *static_cast<caller*>(of_caller);
    const tutti::server::no_preemption_guard here;
    libraries::stay(c.inside, c.go, 1);
    for (int n = 0; n < 1000; ++n) static_cast<void>(add_from(n));
    c.done = true;
}

void call_libraries_in_a_child(void* of_caller) noexcept {
    auto& c = *static_cast<caller*>(of_caller);
    const int status = libraries::stay_and_fork(c.inside, c.go);
    if (status == -1) {
        const bool same = add_from(4) == 1.5 * 4 + 67;
        ::_exit(same ? 0 : 1);
    }
    c.right = status == 0;
    c.done = true;
}

void compute_in_a_library(void* of_user) noexcept {
    auto& u = *static_cast<user_of_a_library*>(of_user);
    libraries::compute(u.begun, u.stop);
}

const void* address_of_lock_once() noexcept { return reinterpret_cast<const void*>(&libraries::lock_once); }

}  // namespace procedures
