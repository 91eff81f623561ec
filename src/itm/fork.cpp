// fork. The child has one thread, and no other thread's transaction may continue there. So the thread that forks runs
// serially before the process is copied. Then no other transaction holds an orec or has written in place, in the child
// either. The child resets what other contexts publish outside of transactions (core/lifecycle/fork.hpp).
//
// A thread that forks in a block of the language already runs serially, because fork has no clone. A thread that forks
// in a block of the library, or in a pure function of the program, is not protected. Other transactions may then be
// anywhere in their execution.
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

// One per thread, because several threads may fork at once and open their blocks before they wait for the irrevocable
// slot.
constinit thread_local descriptor* forking = nullptr;
constinit thread_local detail::frame around{};

void become_serial() {
    if (!api::transactions_have_run()) return;  // then the algorithm can still be chosen
    auto& d = descriptor::of(detail::current_or_attach());
    // Inside a block, or in a handler inside one (core/lifecycle/open_nesting.hpp), the block might have to restart
    // first. But nothing can be thrown through fork.
    if (d.running() || core::ancestor_runs(d)) return;
    around = {};
    d.operations_->open(d, around, {&uncounted_slot, {}}, irrevocable_at_once);
    api::become_serial(d);
    forking = &d;
}

// The server's fork has done this already (api/forking.hpp).
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
