// fork: the child has one thread, and none of the transactions that others were in. Before the process is copied, the
// thread that forks runs serially: so no other transaction holds an orec or has written in place, in the child neither.
// What others have said of themselves outside of transactions is taken back in the child (core/lifecycle/fork.hpp).
//
// A thread that forks in a block of the language does so serially already, as fork has no clone. One that forks in a
// block of the library, or in a function that the program calls pure, is not protected: others may be in the middle of
// anything.
#include <pthread.h>

#include <utility>

#include "api/forking.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "itm/block.hpp"
#include "itm/changes.hpp"
#include "itm/report.hpp"
#include "itm/site.hpp"
#include "tutti/options.hpp"

namespace tutti::itm {
namespace {

constexpr options irrevocable_at_once{.name = "fork", .mode = mode::irrevocable};

// Of each thread its own: several may fork at once, and open their blocks before they wait for the irrevocable slot.
constinit thread_local descriptor* forking = nullptr;
constinit thread_local detail::frame around{};

void become_serial() {
    if (!api::transactions_have_run()) return;  // and the choice of the algorithm is still open
    auto& d = descriptor::of(detail::current_or_attach());
    // In a block, or in a handler inside one (core/lifecycle/open_nesting.hpp), which might have to start over first:
    // nothing can be thrown through fork.
    if (d.running() || core::ancestor_runs(d)) return;
    around = {};
    d.operations_->open(d, around, {&uncounted_slot, {}}, irrevocable_at_once);
    api::become_serial(d);
    forking = &d;
}

// The server's fork has done its part already (api/forking.hpp).
void before() {
    if (!api::forks_alone()) become_serial();
    changes.lock();
    if (!api::forks_alone()) api::hold_for_copy();
}

void after() {
    if (!api::forks_alone()) api::let_go_of_copy();
    changes.unlock();
    if (forking == nullptr) return;
    descriptor& d = *std::exchange(forking, nullptr);
    d.operations_->commit(d);
}

void after_in_child() {
    if (!api::forks_alone()) api::forget_others();
    after();
    report_anew();
}

[[gnu::constructor]] void arrange() { ::pthread_atfork(before, after, after_in_child); }

}  // namespace
}  // namespace tutti::itm
