#include "api/hooks/forking.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "api/hooks/language.hpp"
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

/// The state of the fork_alone call that the calling thread is in.
struct forking {
    quiescent_action& action;
    std::optional<::pid_t> child{};
    int error = 0;
};
constinit thread_local forking* current_fork = nullptr;

void copy_the_process() noexcept {
    if (!current_fork->action.prepare()) return;
    begin_fork_copy();
    current_fork->child = ::fork();
    current_fork->error = errno;
    if (current_fork->child == 0) reset_other_contexts();
    end_fork_copy();
}

/// Waits until no transaction holds an abstract lock. A transaction that has been rolled back holds its abstract locks
/// until it has undone the commits of its open nested blocks. A transaction that has committed holds them a moment
/// longer. Returns false if a lock is still held at `until` or after max_wait. A longer wait could deadlock, because
/// the transaction that undoes such commits may wait for d.
bool abstract_locks_are_free(core::descriptor& d, base::deadline until) noexcept {
    constexpr auto max_wait = std::chrono::microseconds{200};
    const base::deadline end = std::min(until, base::now() + max_wait);
    while (core::any_abstract_lock_is_held(d)) {
        if (base::now() >= end) return false;
    }
    return true;
}

/// REQUIRES: d runs alone.
bool copy_if_quiesced(core::descriptor& d, base::deadline until) noexcept {
    // Waits until no commit waits for quiescence, because data that a commit makes private become private only after
    // its wait.
    if (core::await_no_quiescence(d, until) && abstract_locks_are_free(d, until)) copy_the_process();
    return current_fork->child.has_value();
}

}  // namespace

std::optional<::pid_t> fork_alone(base::deadline until, quiescent_action& action) {
    forking now{.action = action};
    auto& d = core::descriptor::of(detail::current_or_attach());
    current_fork = &now;
    if (!d.algorithm->one_at_a_time) {
        static_cast<void>(core::run_while_alone(d, until, copy_if_quiesced));
    } else {
        detail::frame around{};
        d.operations_->open(d, around, uncounted, {}, irrevocable_at_once);
        copy_the_process();
        static_cast<void>(d.operations_->commit(d));
    }
    current_fork = nullptr;
    errno = now.error;
    return now.child;
}

bool is_in_fork_alone() noexcept { return current_fork != nullptr; }

}  // namespace tutti::api
