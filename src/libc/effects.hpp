// Effects beyond memory: calls that are made at once and undone by a roll-back, and calls that wait for the commit.
//
// Transactions that make such calls exclude each other by abstract locks, which are held until a call has been undone.
//
// What undoes a call is registered before the call is made, so that nothing can fail once it has been, and armed after
// it. Nothing that may leave the frame stands between the call and arm().
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/errno.hpp"
#include "libc/context.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::libc {

using base::kept_errno;

/// Holds an abstract lock to the end of the transaction. May wait, restart the block. False, and errno is ENOMEM or,
/// where the block must commit and another's undo waits for it, EDEADLK.
[[nodiscard]] inline bool hold(tx& t, const abstract_lock& lock) {
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

/// Runs `Undo` (a function object that does not fail) when its block is rolled back, if it was armed.
template <class Undo>
class undoing final : public detail::handler {
public:
    void arm(Undo undo) { undo_.emplace(std::move(undo)); }
    void run(tx&, abort_cause) override {
        const kept_errno kept;
        if (undo_) (*undo_)();
    }

private:
    std::optional<Undo> undo_;
};

/// May leave the frame. Null, and errno is ENOMEM: there is no memory to remember it; then the call must not be made.
template <class Undo>
undoing<Undo>* prepare_undo(tx& t) {
    try {
        auto made = std::make_unique<undoing<Undo>>();
        auto* const at = made.get();
        detail::access::add(t, detail::handler_point::on_abort, std::move(made));
        return at;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return nullptr;
    }
}

/// `f` runs at `point`, a part of the commit. May leave the frame. False, and errno is ENOMEM: it will not.
template <class F>
[[nodiscard]] bool put_off(tx& t, detail::handler_point point, F f) {
    try {
        detail::access::add(t, point, std::make_unique<detail::handler_of<F>>(std::move(f)));
        return true;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return false;
    }
}

}  // namespace tutti::libc
