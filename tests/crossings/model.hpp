// The content of the places as a value: the sequential model.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "places.hpp"
#include "program.hpp"

namespace crossings {

struct model {
    std::array<long, words> word{};
    std::array<long, texts> text{};
    std::array<long, shares> share{};
    std::array<long, values> value{};
    std::array<long, plain_words> plain{};
    std::array<long, objects> object{};
    std::map<int, long> hash, tree;
    std::map<int, std::deque<long>> multi;
    std::set<int> hash_set, tree_set;
    std::deque<long> queue, ring, channel;
    std::vector<long> vector;
    std::multiset<long> heap;
    long shot = nothing;
    long permits = 2;
    long count = 0;
    std::array<long, sums> sum{};

    /// Executes the step, and returns the result that the library must return.
    long apply(step what, int first, int second);
};

}  // namespace crossings
