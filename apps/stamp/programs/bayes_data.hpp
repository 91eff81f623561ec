// Records of variables that are true or false, and a score of how well a variable's parents explain it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stamp/builds/pure.hpp"
#include "stamp/random.hpp"

namespace stamp::bayes {

inline constexpr unsigned variables = 32;
inline constexpr unsigned max_parents = 4;

/// A bit for each variable.
using variable_set = std::uint32_t;
static_assert(variables <= 32);

[[nodiscard]] constexpr variable_set only(unsigned v) { return variable_set{1} << v; }

/// Calls f(variable) for all variables in the set.
template <class F>
constexpr void for_each(variable_set all, const F& f) {
    for (; all != 0; all &= all - 1) f(static_cast<unsigned>(std::countr_zero(all)));
}

class records {
public:
    /// Draws records from a random network, in which each variable has some of the earlier ones as parents.
    records(std::size_t count, std::uint64_t seed) : count_{count} {
        random_source random{seed};
        for (auto& c : columns_) c.resize((count + 63) / 64);
        for (unsigned v = 0; v < variables; ++v) {
            variable_set parents = 0;
            for (unsigned i = 0; i < std::min(v, max_parents - 1); ++i) parents |= only(random.below(v));
            std::array<unsigned, 1u << max_parents> percent;
            for (unsigned& p : percent) p = 5 + random.below(91u);
            for (std::size_t r = 0; r < count; ++r) {
                unsigned states = 0;
                for_each(parents, [&](unsigned p) { states = states * 2 + is_true(p, r); });
                if (random.percent(percent[states])) columns_[v][r / 64] |= std::uint64_t{1} << r % 64;
            }
        }
    }

    /// Returns the log-likelihood of v given its parents, minus the cost of the parents (Schwarz, "Estimating the
    /// Dimension of a Model", Annals of Statistics 6(2), 1978).
    [[nodiscard]] TUTTI_STAMP_PURE double score(unsigned v, variable_set parents) const {
        std::array<const std::uint64_t*, max_parents> of{};
        unsigned n = 0;
        for_each(parents, [&](unsigned p) { of[n++] = columns_[p].data(); });
        const unsigned states = 1u << n;
        double sum = -std::log(static_cast<double>(count_)) / 2 * states;
        for (unsigned s = 0; s < states; ++s) {
            std::uint64_t all = 0, is_so = 0;
            for (std::size_t w = 0; w < columns_[v].size(); ++w) {
                std::uint64_t match = w < count_ / 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count_ % 64) - 1;
                for (unsigned i = 0; i < n; ++i) match &= (s >> i & 1) != 0 ? of[i][w] : ~of[i][w];
                all += static_cast<std::uint64_t>(std::popcount(match));
                is_so += static_cast<std::uint64_t>(std::popcount(match & columns_[v][w]));
            }
            sum += likelihood(is_so, all) + likelihood(all - is_so, all);
        }
        return sum;
    }

private:
    [[nodiscard]] unsigned is_true(unsigned v, std::size_t record) const {
        return columns_[v][record / 64] >> record % 64 & 1;
    }
    static double likelihood(std::uint64_t part, std::uint64_t all) {
        if (part == 0) return 0;
        const auto n = static_cast<double>(part);
        return n * std::log(n / static_cast<double>(all));
    }

    const std::size_t count_;
    std::array<std::vector<std::uint64_t>, variables> columns_;
};

}  // namespace stamp::bayes
