// bayes: learns which variables depend on which others, by hill climbing (Chickering, Heckerman, Meek, "A Bayesian
// Approach to Learning Bayesian Networks with Local Structure", UAI 1997).
//
// The best change of each variable's parents waits in a heap. A thread takes the one with the highest gain, and makes
// the change if it is still valid. Then it searches the next best change of that variable, in a long transaction that
// reads much of the network and computes most of the time.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/programs/bayes_network.hpp"
#include "stamp/structures/heap.hpp"

namespace stamp::bayes {

template <class B>
class learner {
    using context = typename B::context;

public:
    explicit learner(const records& data) : network_{data} {}

    void work(group_worker& me) {
        const auto [first, last] = me.share(variables);
        for (std::size_t v = first; v < last; ++v) propose(static_cast<unsigned>(v));
        me.wait_for_all();
        for (;;) {
            const proposal p = B::atomically("bayes: take", [&](context& t) { return take(t); });
            if (p.gain == 0) return;
            const bool made = B::atomically("bayes: apply", [&](context& t) { return network_.apply(t, p); });
            propose(p.child);
            if (made && p.what == change::reverse) propose(p.parent);
        }
    }

    [[nodiscard]] const network<B>& learned() const { return network_; }

private:
    void propose(unsigned child) {
        const proposal p = B::reading("bayes: search", [&](context& t) { return network_.best_for(t, child); });
        if (p.gain == 0) return;
        B::atomically("bayes: queue", [&](context& t) { heap_.push(t, p.gain, B::template create<proposal>(t, p)); });
    }
    /// Returns a proposal without gain if the heap is empty.
    proposal take(context& t) {
        proposal* const best = heap_.pop(t);
        if (best == nullptr) return {};
        const proposal p = *best;
        B::destroy(t, best);
        return p;
    }

    network<B> network_;
    heap<B, proposal*> heap_;
};

/// Returns true if there is a cycle. Repeatedly removes the variables without remaining parents.
template <class B>
bool has_cycle(const network<B>& of) {
    variable_set left = ~variable_set{0} >> (32 - variables);
    for (bool fewer = true; fewer;) {
        fewer = false;
        for_each(left, [&](unsigned v) {
            if ((of.parents(v) & left) != 0) return;
            left &= ~only(v);
            fewer = true;
        });
    }
    return left != 0;
}

/// Returns the errors of a learned network. REQUIRES: no other thread runs.
template <class B>
std::string check(const records& data, const network<B>& found) {
    double empty = 0, total = 0;
    for (unsigned v = 0; v < variables; ++v) {
        const variable_set parents = found.parents(v);
        const double with_all = data.score(v, parents);
        empty += data.score(v, 0);
        total += with_all;
        std::string wrong;
        for_each(parents, [&](unsigned p) {
            if (data.score(v, parents & ~only(p)) > with_all + 2 * network<B>::min_gain) {
                wrong = fmt::format("it would be better without the edge from {} to {}", p, v);
            }
        });
        if (!wrong.empty()) return wrong;
    }
    if (has_cycle(found)) return "the network has a cycle";
    const double rounding = 1e-9 * std::abs(empty);
    if (std::abs(total - found.total()) > rounding) {
        return fmt::format("the score is {}, and should be {}", found.total(), total);
    }
    if (total < empty - rounding) return "the network explains less than none";
    return {};
}

template <class B>
run_outcome run(const run_settings& how) {
    const records data{how.size, how.seed};
    learner<B> l{data};
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { l.work(me); });
    outcome.wrong = check(data, l.learned());
    return outcome;
}

}  // namespace stamp::bayes
