#include "cluster/workloads/key_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <tutti/cluster/open_nesting.hpp>

#include "cluster/workloads/steps.hpp"

namespace cluster_app {

using tutti::atomically;
using tutti::tx;

namespace {

thread_local std::int64_t seen = 0;  // so that the compiler keeps the reads

}  // namespace

void key_set::fill() {
    atomically([this](tx& t) { found(t); });
    // Every second key, distributed over all nodes in turn, in a random order, which keeps trees shallow.
    std::vector<std::uint64_t> mine;
    for (std::uint64_t key = 2 * here_.number(); key < keys_; key += 2 * here_.nodes()) mine.push_back(key);
    random_source dice{here_.number() + 1};
    for (std::size_t i = mine.size(); i > 1; --i) std::swap(mine[i - 1], mine[dice.below(i)]);
    for (const std::uint64_t key : mine) {
        const std::uint64_t draw = dice.next();
        if (atomically([&](tx& t) { return add(t, key, draw); })) ++balance_;
    }
}

int key_set::change(tx& t, const operation& o) {
    if (o.adds) return add(t, o.key, o.draw) ? 1 : 0;
    return remove(t, o.key) ? -1 : 0;
}

int key_set::run_open(tx& t, const operation& o, bool reads) {
    const tutti::cluster::object_id lock{0, o.key};
    return open_nested(
        t, here_, {{lock, reads}},
        [&](tx& inner) {
            if (!reads) return change(inner, o);
            seen = seen + (contains(inner, o.key) ? 1 : 0);
            return 0;
        },
        [this, back = operation{o.key, o.draw, !o.adds}](tx& undo, int changed) {
            if (changed != 0) static_cast<void>(change(undo, back));
        });
}

void key_set::run_one(random_source& dice) {
    const bool reads = dice.below(100) < reads_;
    std::vector<operation> all;
    for (unsigned i = 0; i < inner_; ++i) all.push_back({dice.below(keys_), dice.next(), dice.below(2) == 0});
    if (reads && nesting_ != nesting::open) {
        seen = seen + atomically({.read_only = true}, [&](tx& t) {
                   return std::ranges::count_if(all, [&](const operation& o) { return contains(t, o.key); });
               });
        return;
    }
    std::vector<int> changes(all.size());
    atomically([&](tx& t) {
        run_steps(t, nesting_, all.size(), [&](tx& inner, std::size_t i) {
            changes[i] = nesting_ == nesting::open ? run_open(inner, all[i], reads) : change(inner, all[i]);
        });
    });
    balance_ += std::accumulate(changes.begin(), changes.end(), 0);
}

void key_set::publish_counts() {
    const auto mine = object_at<std::int64_t>(here_, kind::balance, here_.number());
    atomically([&](tx& t) {  // several clients of an engine have the same number
        if (mine.find(t) == nullptr) mine.publish(t, balance_.load());
        else mine.write(t) += balance_.load();
    });
}

std::string key_set::check() {
    std::vector<std::uint64_t> found;
    if (std::string wrong = walk(found, keys_); !wrong.empty()) return wrong;
    std::ranges::sort(found);
    if (std::ranges::adjacent_find(found) != found.end()) return "a key is there twice";
    if (!found.empty() && found.back() >= keys_) return fmt::format("there is a key {} of {}", found.back(), keys_);
    std::int64_t right = 0;
    visit_all<std::int64_t>(here_, kind::balance, here_.nodes(),
                            [&](std::uint64_t, std::int64_t balance) { right += balance; });
    if (std::cmp_equal(found.size(), right)) return {};
    return fmt::format("it holds {} keys, and the nodes have added {} more than they removed", found.size(), right);
}

}  // namespace cluster_app
