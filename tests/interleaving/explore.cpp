#include "explore.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace interleaving {
namespace {

/// Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. Neighbouring seeds are unrelated.
class splitmix {
public:
    explicit splitmix(std::uint64_t seed) noexcept : state_{seed * 0x9E3779B97F4A7C15U} {}
    std::uint64_t operator()() noexcept {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// Returns a number below n; the bias is negligible here.
    std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>(((*this)() >> 32) * n >> 32); }
    int one_of(thread_set set) noexcept {
        for (std::uint32_t skip = below(static_cast<std::uint32_t>(std::popcount(set))); skip > 0; --skip)
            set &= set - 1;
        return std::countr_zero(set);
    }

private:
    std::uint64_t state_;
};

/// Switches with a fixed probability at every point; a time limit expires with a small one.
class random_walk final : public strategy {
public:
    explicit random_walk(std::uint64_t seed) noexcept : random_{seed}, one_in_{2U << random_.below(6)} {}
    int choose(const situation& now) noexcept override {
        if (now.ready == 0) return random_.one_of(now.timeouts);
        if (now.timeouts != 0 && random_.below(16) == 0) return random_.one_of(now.all());
        if (now.preempting && random_.below(one_in_) != 0) return now.usual;
        return random_.one_of(now.ready);
    }

private:
    splitmix random_;
    std::uint32_t one_in_;
};

/// Runs the ready thread of the highest priority. At each change point, the running thread gets the lowest priority.
class priorities final : public strategy {
public:
    priorities(std::uint64_t seed, std::uint32_t expected_points) noexcept : random_{seed} {
        for (std::size_t i = 0; i < rank_.size(); ++i) rank_[i] = static_cast<int>(i) + 1;
        for (std::size_t i = rank_.size() - 1; i > 0; --i) {
            std::swap(rank_[i], rank_[random_.below(static_cast<std::uint32_t>(i) + 1)]);
        }
        for (auto& point : changes_) point = 1 + random_.below(std::max(expected_points, 1U));
    }
    int choose(const situation& now) noexcept override {
        // Forced and early timeouts are chosen by priority, like other threads.
        const thread_set from = now.ready != 0 && random_.below(16) != 0 ? now.ready : now.all();
        for (auto& point : changes_) {
            if (point > now.point) continue;
            point = ~0U;
            rank_[static_cast<std::size_t>(highest(from))] = --lowest_;
        }
        return highest(from);
    }

private:
    int highest(thread_set set) const noexcept {
        int best = std::countr_zero(set);
        for (; set != 0; set &= set - 1) {
            const int i = std::countr_zero(set);
            if (rank_[static_cast<std::size_t>(i)] > rank_[static_cast<std::size_t>(best)]) best = i;
        }
        return best;
    }

    splitmix random_;
    std::array<int, scheduler::max_threads> rank_{};
    std::array<std::uint32_t, 3> changes_{};
    int lowest_ = 0;
};

}  // namespace

int replay::choose(const situation& now) noexcept {
    while (next_ < decisions_.size() && decisions_[next_].point < now.point) ++next_;
    if (next_ == decisions_.size() || decisions_[next_].point != now.point) return now.usual;
    const int wanted = decisions_[next_].thread;
    return wanted >= 0 && wanted < scheduler::max_threads && (now.all() & only(wanted)) != 0 ? wanted : now.usual;
}

int depth_first::choose(const situation& now) noexcept {
    const auto cost = [&now](int thread) -> unsigned {
        if (thread == now.usual) return 0;
        return now.preempting || (now.ready != 0 && (now.timeouts & only(thread)) != 0) ? 1 : 0;
    };
    if (depth_ < path_.size() && path_[depth_].point <= now.point) {
        const node& recorded = path_[depth_];
        if (recorded.point == now.point && recorded.options == now.all()) {
            ++depth_;
            spent_ += cost(recorded.chosen);
            return recorded.chosen;
        }
        path_.resize(depth_);
        ++diverged_;
    }
    if (depth_ < path_.size()) return now.usual;

    thread_set untried = 0;
    for (thread_set rest = now.all(); rest != 0; rest &= rest - 1) {
        const int thread = std::countr_zero(rest);
        if (thread != now.usual && spent_ + cost(thread) <= bound_) untried |= only(thread);
    }
    if (untried != 0) {
        path_.push_back({now.point, now.all(), untried, now.usual});
        ++depth_;
    }
    return now.usual;
}

bool depth_first::next() noexcept {
    depth_ = 0;
    spent_ = 0;
    for (; !path_.empty(); path_.pop_back()) {
        node& last = path_.back();
        if (last.untried == 0) continue;
        last.chosen = std::countr_zero(last.untried);
        last.untried &= last.untried - 1;
        return true;
    }
    return false;
}

exploration explore(const limits& how_much, const std::function<trial(strategy&)>& run) {
    exploration all;
    const auto fails = [&](strategy& s) {
        trial t = run(s);
        all.longest = std::max(all.longest, t.ran.points);
        all.forced_timeouts += t.ran.forced_timeouts;
        if (t.failure) all.failed = std::move(t);
        return all.failed.has_value();
    };
    std::uint64_t of_last_bound = 0;
    for (unsigned bound = 0; bound <= how_much.preemptions; ++bound) {
        // Estimates the number of executions: one more preemption fits almost anywhere into each schedule, and the
        // order of the preemptions does not matter.
        const std::uint64_t expected = bound == 0 ? 0 : of_last_bound * all.longest / bound;
        if (all.exhaustive + expected > how_much.exhaustive) break;
        depth_first search{bound};
        bool more = true;
        of_last_bound = 0;
        for (; more && all.exhaustive < how_much.exhaustive; more = search.next()) {
            ++all.exhaustive;
            ++of_last_bound;
            if (fails(search)) return all;
        }
        all.diverged += search.diverged();
        if (more) break;
        all.complete_up_to = static_cast<int>(bound);
    }
    const std::uint64_t unused = how_much.exhaustive - std::min(how_much.exhaustive, all.exhaustive);
    const std::uint64_t random = how_much.random == 0 ? 0 : how_much.random + unused;
    while (all.random < random) {
        const std::uint64_t seed = how_much.seed + all.random++;
        random_walk walk{seed};
        priorities ranked{seed, all.longest};
        if (fails(seed % 2 == 0 ? static_cast<strategy&>(walk) : ranked)) return all;
    }
    return all;
}

}  // namespace interleaving
