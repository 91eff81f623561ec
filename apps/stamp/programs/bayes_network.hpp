// A Bayesian network: the parents of each variable. The network never has a cycle.
#pragma once

#include <array>

#include "stamp/programs/bayes_data.hpp"

namespace stamp::bayes {

enum class change : std::uint8_t { insert, remove, reverse };

/// A change of the edge from a parent to a child, and its gain as long as both have the parents that were seen.
struct proposal {
    change what = change::insert;
    unsigned parent = 0, child = 0;
    variable_set parents_of_parent = 0, parents_of_child = 0;
    double gain = 0;
};

template <class B>
class network {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

public:
    explicit network(const records& data) : data_{data} {
        double sum = 0;
        for (unsigned v = 0; v < variables; ++v) sum += data.score(v, 0);
        total_.store(sum);
    }

    /// Returns the change of an edge to `child` with the highest gain, or a change without gain.
    [[nodiscard]] proposal best_for(context& t, unsigned child) const {
        const variable_set parents = parents_[child].get(t);
        const double now = data_.score(child, parents);
        proposal best;
        const auto consider = [&](change what, unsigned parent, double gain) {
            if (gain > best.gain && gain > min_gain) {
                best = {what, parent, child, parents_[parent].get(t), parents, gain};
            }
        };
        for (unsigned other = 0; other < variables; ++other) {
            if (other == child) continue;
            if ((parents & only(other)) != 0) {
                const double without = data_.score(child, parents & ~only(other)) - now;
                consider(change::remove, other, without);
                const variable_set its = parents_[other].get(t);
                if (may_add(its) && !ancestors(t, child, only(other))[other]) {
                    const double with = data_.score(other, its | only(child)) - data_.score(other, its);
                    consider(change::reverse, other, without + with);
                }
            } else if (may_add(parents) && !ancestors(t, other)[child]) {
                consider(change::insert, other, data_.score(child, parents | only(other)) - now);
            }
        }
        return best;
    }

    /// Returns false, and changes nothing, if the proposal is out of date.
    bool apply(context& t, const proposal& p) {
        const variable_set parents = parents_[p.child].get(t), its = parents_[p.parent].get(t);
        if (parents != p.parents_of_child || its != p.parents_of_parent) return false;
        switch (p.what) {
            case change::insert:
                if (ancestors(t, p.parent)[p.child]) return false;
                set_parents(t, p.child, parents | only(p.parent));
                break;
            case change::remove: set_parents(t, p.child, parents & ~only(p.parent)); break;
            case change::reverse:
                if (ancestors(t, p.child, only(p.parent))[p.parent]) return false;
                set_parents(t, p.child, parents & ~only(p.parent));
                set_parents(t, p.parent, its | only(p.child));
                break;
        }
        total_.set(t, total_.get(t) + p.gain);
        return true;
    }

    /// Sets the parents without any check.
    void set_parents(context& t, unsigned v, variable_set parents) { parents_[v].set(t, parents); }

    /// Return the current values. REQUIRES: no other thread runs.
    [[nodiscard]] variable_set parents(unsigned v) const { return parents_[v].load(); }
    [[nodiscard]] double total() const { return total_.load(); }

    /// Smaller gains may be rounding errors.
    static constexpr double min_gain = 1e-3;

private:
    struct set_of_ancestors {
        variable_set all = 0;
        bool operator[](unsigned v) const { return (all & only(v)) != 0; }
    };
    /// Returns the ancestors of v, as if v did not have the parents in `without`.
    set_of_ancestors ancestors(context& t, unsigned v, variable_set without = 0) const {
        set_of_ancestors found;
        for (variable_set ahead = parents_[v].get(t) & ~without; ahead != 0;) {
            const auto next = static_cast<unsigned>(std::countr_zero(ahead));
            found.all |= only(next);
            ahead = (ahead | parents_[next].get(t)) & ~found.all;
        }
        return found;
    }
    static bool may_add(variable_set parents) { return std::popcount(parents) < static_cast<int>(max_parents); }

    const records& data_;
    std::array<shared<variable_set>, variables> parents_;
    shared<double> total_{0.0};
};

}  // namespace stamp::bayes
