#include "cluster/workloads/loan.hpp"

#include <algorithm>

namespace cluster_app {

using tutti::atomically;
using tutti::tx;

namespace {

thread_local std::int64_t seen = 0;  // so that the compiler keeps the reads

}  // namespace

/// Returns the amount that the lenders gave. Each lender is a nested block, which runs only if the lenders before it
/// have not given enough. So the needed lenders are not known beforehand.
std::int64_t loan::borrow(std::span<const lender> from, std::int64_t wanted) {
    return atomically([&](tx& t) {
        account& a = from.front().at.write(t);
        const std::int64_t offer = from.size() == 1 ? wanted : wanted * from.front().percent / 100;
        const std::int64_t part = std::clamp<std::int64_t>(offer, 0, a.balance);
        a.balance -= part;
        if (part == wanted || from.size() == 1) return part;
        return part + borrow(from.subspan(1), wanted - part);
    });
}

void loan::run_one(random_source& dice) {
    const auto borrower = any(dice);
    std::vector<lender> from;
    for (std::size_t i = 0; i < lenders; ++i) from.push_back({any(dice), static_cast<std::int64_t>(dice.below(101))});
    if (dice.below(100) < reads_) {
        seen = seen + atomically({.read_only = true}, [&](tx& t) {
                   prefetch(t, borrower, from[0].at, from[1].at, from[2].at, from[3].at, from[4].at);
                   std::int64_t total = borrower.read(t).balance;
                   for (const lender& l : from) total += l.at.read(t).balance;
                   return total;
               });
        return;
    }
    const auto wanted = static_cast<std::int64_t>(1 + dice.below(500));
    atomically([&](tx& t) {
        const std::int64_t got = borrow(from, wanted);
        borrower.write(t).balance += got;
    });
}

}  // namespace cluster_app
