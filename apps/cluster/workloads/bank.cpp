#include "cluster/workloads/bank.hpp"

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
        if (nesting_ == nesting::checkpoint) return make_with_checkpoints(t, all);
        for (const transfer& one : all) {
            if (nesting_ == nesting::closed) atomically([&](tx& inner) { make(inner, one); });
            else make(t, one);
        }
    });
}

void bank::make(tx& t, const transfer& one) const {
    if (!singly_) prefetch(t, one.from, one.to);
    one.from.write(t).balance -= one.amount;
    one.to.write(t).balance += one.amount;
}

void bank::make_with_checkpoints(tx& t, std::span<const transfer> rest) const {
    checkpoint(t, [&](tx& from_here) {
        make(from_here, rest.front());
        if (rest.size() > 1) make_with_checkpoints(from_here, rest.subspan(1));
    });
}

}  // namespace cluster_app
