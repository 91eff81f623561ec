// fork: the child has one thread, and none of the transactions that others were in. Before the process is copied, the
// thread that forks runs alone: so nobody holds a record or has written in place, in the child neither.
//
// A thread that forks in the middle of a transaction of its own does so alone already, because fork has no clone.
#include <pthread.h>

#include <utility>

#include "core/algorithm.hpp"
#include "itm/block.hpp"
#include "itm/changes.hpp"
#include "itm/report.hpp"
#include "itm/site.hpp"
#include "tutti/options.hpp"

namespace tutti::itm {
namespace {

constexpr options irrevocable_at_once{.name = "fork", .mode = mode::irrevocable};

// There is one at a time: another waits for the irrevocable seat.
constinit descriptor* forking = nullptr;

void before() {
    descriptor& d = attach();
    if (!d.running()) {
        side& s = side_of(d);
        block& b = s.outermost;
        b.final = true;
        b.parent = nullptr;
        d.algorithm->open_plainly(d, b, site_of(s, nullptr), irrevocable_at_once);
        api::go_alone(d);
        forking = &d;
    }
    changes.lock();
}

void after() {
    changes.unlock();
    if (forking == nullptr) return;
    descriptor& d = *std::exchange(forking, nullptr);
    d.operations_->commit(d);
}

void after_in_child() {
    after();
    report_anew();
}

[[gnu::constructor]] void arrange() { ::pthread_atfork(before, after, after_in_child); }

}  // namespace
}  // namespace tutti::itm
