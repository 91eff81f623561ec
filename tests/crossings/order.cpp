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

    /// True if the transactions that are not placed yet can follow.
    bool from(model& m) {
        std::uint32_t first_end = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::size_t> next;
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!placed_[i]) first_end = std::min(first_end, all_[i].end);
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!placed_[i] && all_[i].begin <= first_end) next.push_back(i);
        if (next.empty()) return true;
        std::sort(next.begin(), next.end(), [&](auto a, auto b) { return all_[a].end < all_[b].end; });
        for (const std::size_t i : next) {
            if (++steps_ > most_steps) return true;
            model after = m;
            const auto wrong = replay(all_[i], after);
            if (wrong) {
                // What the longest beginning of an order stumbles over says most.
                if (depth_ >= deepest_) {
                    deepest_ = depth_;
                    wrong_ = wrong;
                }
                continue;
            }
            if (!all_[i].committed) after = m;
            placed_[i] = true;
            ++depth_;
            const bool fits = from(after);
            --depth_;
            placed_[i] = false;
            if (fits) {
                m = std::move(after);
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool undecided() const { return steps_ > most_steps; }
    [[nodiscard]] std::string wrong() const { return wrong_.value_or("no order"); }

private:
    static constexpr std::size_t most_steps = 20'000;

    const std::vector<transaction>& all_;
    std::vector<bool> placed_;
    std::size_t steps_ = 0, depth_ = 0, deepest_ = 0;
    std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> find_no_order(const std::vector<transaction>& all, model& after) {
    search s{all};
    if (s.from(after)) return std::nullopt;
    return "no serial order: " + s.wrong();
}

}  // namespace crossings
