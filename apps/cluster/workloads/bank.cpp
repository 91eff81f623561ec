#include "cluster/workloads/bank.hpp"

namespace cluster_app {

using tutti::atomically;
using tutti::tx;

namespace {

thread_local std::int64_t seen = 0;  // so that nobody leaves the reads out

}  // namespace

void bank::run_one(random_source& dice) {
    const auto from = any(dice), to = any(dice);
    if (dice.below(100) < reads_) {
        seen = seen + atomically({.read_only = true}, [&](tx& t) {
                   prefetch(t, from, to);
                   return from.read(t).balance + to.read(t).balance;
               });
        return;
    }
    const auto amount = static_cast<std::int64_t>(dice.below(100));
    atomically([&](tx& t) {
        prefetch(t, from, to);
        from.write(t).balance -= amount;
        to.write(t).balance += amount;
    });
}

}  // namespace cluster_app
