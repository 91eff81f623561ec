// Effects outside of memory. Some calls run immediately, and a roll-back undoes them. Other calls are deferred to the
// commit.
//
// Transactions that make calls of the first kind exclude each other by abstract locks. They hold the locks until the
// call has been undone.
//
// The undo action of a call is registered before the call, so that nothing can fail after the call. The action is armed
// after the call. Nothing may leave the frame between the call and arm().
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/errno_guard.hpp"
#include "libc/context.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::libc {

using base::errno_guard;

/// Holds an abstract lock until the transaction ends. May wait or restart the block. Returns false and sets errno if
/// the lock cannot be acquired. The error is ENOMEM, or EDEADLK if the block must commit and another transaction's undo
/// action waits for it.
[[nodiscard]] inline bool hold_until_end(tx& t, const abstract_lock& lock) {
    try {
        acquire(t, lock);
        return true;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
    } catch (const usage_error&) {
        errno = EDEADLK;
    }
    return false;
}

/// Runs `Undo` when its block is rolled back, if the action was armed. `Undo` is a function object that does not fail.
template <class Undo>
class undo_handler final : public detail::handler {
public:
    void arm(Undo undo) { undo_.emplace(std::move(undo)); }
    void run(tx&, abort_cause) override {
        const errno_guard saved_errno;
        if (undo_) (*undo_)();
    }

private:
    std::optional<Undo> undo_;
};

/// Registers an undo action. May leave the frame. If there is no memory for the action, returns null and sets errno to
/// ENOMEM; then the caller must not make the call.
template <class Undo>
undo_handler<Undo>* prepare_undo(tx& t) {
    try {
        auto made = std::make_unique<undo_handler<Undo>>();
        auto* const at = made.get();
        detail::access::add(t, detail::handler_point::on_abort, std::move(made));
        return at;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

/// Registers `f` to run at `point`, a part of the commit. May leave the frame. Returns false and sets errno to ENOMEM
/// if `f` will not run.
template <class F>
[[nodiscard]] bool defer(tx& t, detail::handler_point point, F f) {
    try {
        detail::access::add(t, point, std::make_unique<detail::handler_of<F>>(std::move(f)));
        return true;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return false;
    }
}

}  // namespace tutti::libc
