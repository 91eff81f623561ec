#include "values.hpp"

namespace crossings {
namespace {

bool in_a_transaction() { return tutti::detail::access::running(tutti::detail::current_or_attach()); }

}  // namespace

void member_blocks::run(bool restarts) {
    const bool outermost = !in_a_transaction();
    // A destructor cannot report a lack of memory.
    const undisturbed nothing_fails;
    bool restarted = !restarts || !outermost;
    tutti::atomically([&](tutti::tx& t) {
        counted_.set(t, counted_.get(t) + 1);
        t.on_commit([this] { ++committed_; });
        if (restarted || t.irrevocable()) return;
        restarted = true;
        tutti::restart(t);
    });
    if (outermost) ++returned_;
}

void value::copied() {
    if (!copies_run_blocks) return;
    in_copies.run();
    ends_in_a_block_ = true;
    if (fail_at_copy != 0 && --fail_at_copy == 0) throw copy_failure{};
}

value::~value() {
    if (ends_in_a_block_ && !in_a_transaction()) in_destructors.run();
}

}  // namespace crossings
