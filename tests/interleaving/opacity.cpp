#include "opacity.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace interleaving {
namespace {

__extension__ using attempt_set = unsigned __int128;
constexpr std::size_t most_attempts = 128;
constexpr attempt_set only_attempt(std::size_t i) noexcept { return attempt_set{1} << i; }
constexpr int size_of(attempt_set s) noexcept {
    return std::popcount(static_cast<std::uint64_t>(s)) + std::popcount(static_cast<std::uint64_t>(s >> 64));
}

/// The reads and writes of an attempt that matter to others.
struct summary {
    std::map<int, value> reads;   // values that it had not written itself
    std::map<int, value> writes;  // writes that remain at its end
};

std::string quote(int place, value v) { return "place " + std::to_string(place) + " = " + std::to_string(v); }

class search {
public:
    explicit search(const history& h) : history_{h}, state_{h.initial} {}

    std::optional<std::string> violation() {
        for (std::size_t i = 0; i < history_.attempts.size(); ++i) {
            summaries_.emplace_back();
            if (auto wrong = summarise(i)) return wrong;
        }
        for (std::size_t i = 0; i < history_.attempts.size(); ++i) {
            if (auto wrong = find_source_of_reads(i)) return wrong;
            before_.push_back(those_before(i));
        }
        if (place_rest(0)) return std::nullopt;
        return describe_dead_end();
    }

private:
    /// Follows the attempt's own writes through its nested blocks.
    std::optional<std::string> summarise(std::size_t i) {
        summary& s = summaries_[i];
        std::vector<std::map<int, value>> levels(1);
        for (const operation& o : history_.attempts[i].operations) {
            switch (o.what) {
                case operation::kind::open: levels.push_back(levels.back()); break;
                case operation::kind::undo: levels.pop_back(); break;
                case operation::kind::close: {
                    auto inner = std::move(levels.back());
                    levels.pop_back();
                    levels.back() = std::move(inner);
                    break;
                }
                case operation::kind::write: levels.back()[o.place] = o.v; break;
                case operation::kind::read: {
                    const auto own = levels.back().find(o.place);
                    const bool mine = own != levels.back().end();
                    const value expected = mine ? own->second : s.reads.emplace(o.place, o.v).first->second;
                    if (o.v == expected) break;
                    return name_of(history_, i) + " reads " + quote(o.place, o.v) +
                           (mine ? " after writing " : " after reading ") + std::to_string(expected);
                }
            }
        }
        // Blocks that were open when the attempt ended belong to it; a committed attempt has none.
        if (history_.attempts[i].committed) s.writes = std::move(levels.back());
        return std::nullopt;
    }

    std::optional<std::string> find_source_of_reads(std::size_t i) const {
        for (const operation& o : history_.attempts[i].operations) {
            if (o.what != operation::kind::read || o.v == history_.initial[static_cast<std::size_t>(o.place)]) continue;
            const auto read = summaries_[i].reads.find(o.place);
            if (read == summaries_[i].reads.end() || read->second != o.v) continue;  // its own write
            bool found = false;
            for (std::size_t j = 0; j < summaries_.size() && !found; ++j) {
                const auto written = summaries_[j].writes.find(o.place);
                found = j != i && written != summaries_[j].writes.end() && written->second == o.v;
                if (found && history_.attempts[j].asked > o.when) {
                    return name_of(history_, i) + " reads " + quote(o.place, o.v) + " before its writer " +
                           name_of(history_, j) + " asked to commit";
                }
            }
            if (!found)
                return name_of(history_, i) + " reads " + quote(o.place, o.v) + ", which no transaction committed";
        }
        return std::nullopt;
    }

    /// Returns the attempts that must come before attempt i: earlier ones of its thread, and those that had ended when
    /// it began.
    attempt_set those_before(std::size_t i) const {
        const attempt& later = history_.attempts[i];
        attempt_set set = 0;
        for (std::size_t j = 0; j < history_.attempts.size(); ++j) {
            const attempt& a = history_.attempts[j];
            if (j != i && (a.end < later.begin || (j < i && a.thread == later.thread))) set |= only_attempt(j);
        }
        return set;
    }

    bool legal_next(std::size_t i, attempt_set placed) const {
        if ((placed & only_attempt(i)) != 0 || (before_[i] & ~placed) != 0) return false;
        return std::ranges::all_of(summaries_[i].reads, [this](const auto& read) {
            return state_[static_cast<std::size_t>(read.first)] == read.second;
        });
    }

    /// Returns true if the attempts outside `placed` can follow in some order.
    bool place_rest(attempt_set placed) {
        // An attempt without remaining writes can be placed as soon as possible: it changes no state, and its early
        // place only enables other attempts. So only writers have to be tried in every order.
        for (bool again = true; again;) {
            again = false;
            for (std::size_t i = 0; i < summaries_.size(); ++i) {
                if (!summaries_[i].writes.empty() || !legal_next(i, placed)) continue;
                placed |= only_attempt(i);
                again = true;
            }
        }
        if (size_of(placed) > size_of(furthest_)) furthest_ = placed;
        if (static_cast<std::size_t>(size_of(placed)) == summaries_.size()) return true;
        if (!dead_ends_.insert({placed, state_}).second) return false;
        for (std::size_t i = 0; i < summaries_.size(); ++i) {
            if (summaries_[i].writes.empty() || !legal_next(i, placed)) continue;
            const std::vector<value> saved = state_;
            for (const auto& [place, v] : summaries_[i].writes) state_[static_cast<std::size_t>(place)] = v;
            if (place_rest(placed | only_attempt(i))) return true;
            state_ = saved;
        }
        return false;
    }

    std::string describe_dead_end() const {
        std::string placed;
        std::string rest;
        for (std::size_t i = 0; i < summaries_.size(); ++i) {
            ((furthest_ & only_attempt(i)) != 0 ? placed : rest) += ' ' + name_of(history_, i);
        }
        return "no serial order explains what was read: the furthest one places" + placed + " and then none of" + rest;
    }

    const history& history_;
    std::vector<summary> summaries_;
    std::vector<attempt_set> before_;
    std::vector<value> state_;
    attempt_set furthest_ = 0;
    std::set<std::pair<attempt_set, std::vector<value>>> dead_ends_;
};

}  // namespace

std::string name_of(const history& h, std::size_t index) {
    const int thread = h.attempts[index].thread;
    const auto number = std::count_if(h.attempts.begin(), h.attempts.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                                      [thread](const attempt& a) { return a.thread == thread; });
    return static_cast<char>('A' + thread) + std::to_string(number);
}

std::optional<std::string> find_violation(const history& h) {
    // Correct engines need far fewer attempts, except when two nested blocks and their outer blocks fail each other in
    // lockstep.
    if (h.attempts.size() > most_attempts) return "more than 128 attempts: they get nowhere";
    return search{h}.violation();
}

std::optional<std::string> find_broken_promise(const history& h) {
    // Returns the end of the time in which the attempt was certainly irrevocable: when it asked to commit, or, if it
    // never asked, its last operation.
    const auto last = [](const attempt& a) {
        if (a.asked != never) return a.asked;
        return a.operations.empty() ? a.irrevocable : std::max(a.irrevocable, a.operations.back().when);
    };
    // A transaction inside another one has the same context; block::open_nested numbers its thread this way.
    const auto is_inside = [](const attempt& a, const attempt& b) { return a.thread == b.thread + 4; };
    for (std::size_t i = 0; i < h.attempts.size(); ++i) {
        const attempt& a = h.attempts[i];
        const bool wrote =
            std::ranges::any_of(a.operations, [](const operation& o) { return o.what == operation::kind::write; });
        if (a.doomed && a.committed && wrote) return name_of(h, i) + " was killed and has committed";
        if (a.irrevocable == never) continue;
        if (!a.committed && !a.gave_up) return name_of(h, i) + " was irrevocable and has been aborted";
        for (std::size_t j = 0; j < i; ++j) {
            const attempt& b = h.attempts[j];
            if (b.irrevocable != never && !is_inside(a, b) && a.irrevocable < last(b) && b.irrevocable < last(a)) {
                return name_of(h, j) + " and " + name_of(h, i) + " are irrevocable at once";
            }
        }
    }
    return std::nullopt;
}

}  // namespace interleaving
