#include "cluster/workloads/bank.hpp"

#include <tutti/open_nesting.hpp>

#include "cluster/workloads/steps.hpp"

namespace cluster_app {

using tutti::atomically;
using tutti::tx;

namespace {

thread_local std::int64_t seen = 0;  // so that the compiler keeps the reads

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
    std::vector<transfer> all{{from, to, static_cast<std::int64_t>(dice.below(100))}};
    while (all.size() < inner_) all.push_back({any(dice), any(dice), static_cast<std::int64_t>(dice.below(100))});
    atomically([&](tx& t) {
        run_steps(t, nesting_, all.size(), [&](tx& inner, std::size_t i) {
            if (nesting_ == nesting::open) make_open(inner, all[i]);
            else make(inner, all[i]);
        });
    });
}

void bank::make(tx& t, const transfer& one) const {
    if (!singly_) prefetch(t, one.from, one.to);
    one.from.write(t).balance -= one.amount;
    one.to.write(t).balance += one.amount;
}

void bank::make_open(tx& t, const transfer& one) const {
    const transfer back{one.to, one.from, one.amount};
    open_nested(t, [&](tx& inner) { make(inner, one); }, [this, back](tx& undo) { make(undo, back); });
}

}  // namespace cluster_app
