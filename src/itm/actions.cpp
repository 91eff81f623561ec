// User actions, which a program registers for the commit or the roll-back of its transaction.
//
//   commit   runs when the commit is decided and ownership is still held, so the actions of transactions that write
//            the same data run in commit order; must not use a transaction
//   undo     runs after the roll-back of the block that registered the action; the newest action runs first
#include "itm/block.hpp"
#include "tutti/tx.hpp"

namespace tutti::itm {
namespace {

struct action_of_user {
    void (*function)(void*);
    void* argument;
    void operator()() const { function(argument); }
};

/// Returns the descriptor whose transaction records the action. A hardware attempt switches to software first, because
/// hardware would run the action too early.
descriptor& registering() noexcept {
    if (runtime_state_of(current()).hardware.is_running()) hardware_context::leave();
    return current();
}

}  // namespace
}  // namespace tutti::itm

using namespace tutti::itm;

TUTTI_ITM void _ITM_addUserCommitAction(void (*function)(void*), std::uint64_t, void* argument) noexcept {
    registering().at_commit(action_of_user{function, argument});
}

TUTTI_ITM void _ITM_addUserUndoAction(void (*function)(void*), void* argument) noexcept {
    registering().on_abort(action_of_user{function, argument});
}
