// Handles fork. The child has only one thread, so it cannot continue the transactions of other threads. Therefore the
// thread that forks runs serially before the process is copied. Then no other transaction holds an orec or has written
// in place when the process is copied. The child resets the state that other contexts have published outside of
// transactions (core/lifecycle/fork.hpp).
//
// A thread that forks in a block of the language already runs serially, because fork has no transactional clone. But a
// fork in a block of the library, or in a pure function of the program, is not protected. Other transactions may then
// be at any point of their execution.
#include <pthread.h>

#include <utility>

#include "api/hooks/forking.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "itm/block.hpp"
#include "itm/registration_lock.hpp"
#include "itm/report.hpp"
#include "itm/site.hpp"
#include "tutti/options.hpp"

namespace tutti::itm {
namespace {

constexpr options irrevocable_at_once{.name = "fork", .mode = mode::irrevocable};

// Each thread has its own object, because several threads may fork at the same time. Each thread opens its block before
// it waits for the irrevocable slot, so several of these blocks may be open at the same time.
constinit thread_local descriptor* forking_descriptor = nullptr;
constinit thread_local detail::frame fork_frame{};

void become_serial() {
    if (!api::transactions_have_run()) return;  // then the algorithm may still be chosen later
    auto& d = descriptor::of(detail::current_or_attach());
    // A fork inside a block, or in a handler inside a block (core/lifecycle/open_nesting.hpp), is not protected. The
    // block might have to restart first, but nothing can be thrown through fork.
    if (d.running() || core::ancestor_runs(d)) return;
    fork_frame = {};
    d.operations_->open(d, fork_frame, uncounted_slot, {}, irrevocable_at_once);
    api::become_serial(d);
    forking_descriptor = &d;
}

// In fork_alone, the server's own fork, the thread already runs alone and has begun the copy (api/hooks/forking.hpp).
void before_fork() {
    if (!api::is_in_fork_alone()) become_serial();
    registration_lock.lock();
    if (!api::is_in_fork_alone()) api::begin_fork_copy();
}

void after_fork() {
    if (!api::is_in_fork_alone()) api::end_fork_copy();
    registration_lock.unlock();
    if (forking_descriptor == nullptr) return;
    descriptor& d = *std::exchange(forking_descriptor, nullptr);
    d.operations_->commit(d);
}

void after_fork_in_child() {
    if (!api::is_in_fork_alone()) api::reset_other_contexts();
    after_fork();
    reset_report();
}

[[gnu::constructor]] void register_fork_handlers() { ::pthread_atfork(before_fork, after_fork, after_fork_in_child); }

}  // namespace
}  // namespace tutti::itm
