#include "api/forking.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "api/language.hpp"
#include "core/conflict/abstract_locks.hpp"
#include "core/modes/serial.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/state/descriptor.hpp"
#include "tutti/options.hpp"

namespace tutti::api {
namespace {

constexpr options irrevocable_at_once{.name = "fork", .mode = mode::irrevocable};
constinit detail::site_slot uncounted{.site{nullptr}, .file = "", .function = "", .line = 0};

/// The state of the calling thread's fork_alone.
struct forking {
    at_rest& first;
    std::optional<::pid_t> child{};
    int error = 0;
};
constinit thread_local forking* mine = nullptr;

void copy_the_process() noexcept {
    if (!mine->first.prepare()) return;
    hold_for_copy();
    mine->child = ::fork();
    mine->error = errno;
    if (mine->child == 0) forget_others();
    let_go_of_copy();
}

/// Waits until no transaction holds an abstract lock. A transaction that has been rolled back holds its abstract locks
/// until it has undone the commits of its open nested blocks. A transaction that has committed holds them a moment
/// longer. Returns false if one still holds a lock at `until`, or after a moment, because an undo may wait for d.
bool nothing_is_to_be_undone(core::descriptor& d, base::deadline until) noexcept {
    constexpr auto a_moment = std::chrono::microseconds{200};
    const base::deadline end = std::min(until, base::now() + a_moment);
    while (core::any_abstract_lock_is_held(d)) {
        if (base::now() >= end) return false;
    }
    return true;
}

/// REQUIRES: d runs alone.
bool copy_if_settled(core::descriptor& d, base::deadline until) noexcept {
    // The data that a commit has published become private to its thread only after the commit's wait.
    if (core::await_no_quiescence(d, until) && nothing_is_to_be_undone(d, until)) copy_the_process();
    return mine->child.has_value();
}

}  // namespace

std::optional<::pid_t> fork_alone(base::deadline until, at_rest& first) {
    forking now{.first = first};
    auto& d = core::descriptor::of(detail::current_or_attach());
    mine = &now;
    if (!d.algorithm->one_at_a_time) {
        static_cast<void>(core::run_while_alone(d, until, copy_if_settled));
    } else {
        detail::frame around{};
        d.operations_->open(d, around, {&uncounted, {}}, irrevocable_at_once);
        copy_the_process();
        static_cast<void>(d.operations_->commit(d));
    }
    mine = nullptr;
    errno = now.error;
    return now.child;
}

bool forks_alone() noexcept { return mine != nullptr; }

}  // namespace tutti::api
