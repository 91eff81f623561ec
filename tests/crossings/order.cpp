// The search for a serial order.
#include <algorithm>
#include <limits>

#include "history.hpp"

namespace crossings {
namespace {

/// Replays a transaction. Returns the first step whose result differs.
std::optional<std::string> replay(const transaction& t, model& m) {
    std::vector<model> before;
    for (const action& a : t.actions) {
        switch (a.is) {
            case action::kind::opens: before.push_back(m); break;
            case action::kind::undoes:
                m = std::move(before.back());
                before.pop_back();
                break;
            case action::kind::does: {
                const long expected = m.apply(a.what, a.first, a.second);
                if (expected == a.result) break;
                return std::string{name_of(a.what)} + ' ' + std::to_string(a.first) + ' ' + std::to_string(a.second) +
                       " of thread " + std::to_string(t.thread) + " at " + std::to_string(t.begin) + " returned " +
                       std::to_string(a.result) + ", and " + std::to_string(expected) + " was expected";
            }
        }
    }
    return std::nullopt;
}

class search {
public:
    explicit search(const std::vector<transaction>& all) : all_{all}, placed_(all.size()) {}

    /// Returns true if all transactions fit an order, or if the search took too many steps. Before the call, `m` is the
    /// initial model. After the call, `m` is the model that the last placed transaction leaves. The search keeps its
    /// path without recursion, because threads that are rolled back repeatedly leave thousands of transactions.
    bool run(model& m) {
        std::vector<place> path{here(std::move(m))};
        for (;;) {
            place& last = path.back();
            const bool is_out_of_steps = last.tried < last.next.size() && ++steps_ > most_steps;
            if (last.next.empty() || is_out_of_steps) {
                m = std::move(last.before);
                return true;
            }
            if (last.tried == last.next.size()) {
                path.pop_back();
                if (path.empty()) return false;
                place& back = path.back();
                placed_[back.next[back.tried++]] = false;
                continue;
            }
            const std::size_t i = last.next[last.tried];
            model after = last.before;
            if (auto wrong = replay(all_[i], after)) {
                // The failure after the longest partial order is the most informative one.
                if (path.size() >= deepest_) {
                    deepest_ = path.size();
                    wrong_ = std::move(wrong);
                }
                ++last.tried;
                continue;
            }
            if (!all_[i].committed) after = last.before;
            placed_[i] = true;
            path.push_back(here(std::move(after)));
        }
    }
    [[nodiscard]] std::string wrong() const { return wrong_.value_or("no order"); }

private:
    static constexpr std::size_t most_steps = 20'000;

    struct place {
        model before;
        std::vector<std::size_t> next;  ///< the transactions that may come first, by real time
        std::size_t tried = 0;
    };

    /// Returns the position after the transactions that have been placed.
    place here(model before) const {
        std::uint32_t first_end = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::size_t> next;
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!placed_[i]) first_end = std::min(first_end, all_[i].end);
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!placed_[i] && all_[i].begin <= first_end) next.push_back(i);
        std::sort(next.begin(), next.end(), [&](auto a, auto b) { return all_[a].end < all_[b].end; });
        return {std::move(before), std::move(next)};
    }

    const std::vector<transaction>& all_;
    std::vector<bool> placed_;
    std::size_t steps_ = 0, deepest_ = 0;
    std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> find_no_order(const std::vector<transaction>& all, model& after) {
    search s{all};
    if (s.run(after)) return std::nullopt;
    return "no serial order: " + s.wrong();
}

}  // namespace crossings
