// User actions: what a program wants done when its transaction commits or is rolled back.
//
//   commit   when the decision is made and ownership is still held, so in the order in which transactions commit that
//            write the same data; must not touch a transaction
//   undo     after the roll-back of the block that registered it, newest first
#include "itm/block.hpp"
#include "tutti/tx.hpp"

namespace tutti::itm {
namespace {

struct action_of_user {
    void (*function)(void*);
    void* argument;
    void operator()() const { function(argument); }
};

/// Whose transaction it is for. Not one in hardware, which would run the action before its end.
descriptor& registering() noexcept {
    if (side_of(current()).hardware.runs()) hardware_side::leave();
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
