#include "tpcc/customer_names.hpp"

#include <algorithm>
#include <tuple>

#include "tpcc/terms.hpp"

namespace tpcc {

void customer_names::build(std::span<customer> all) {
    sorted_.clear();
    names_.clear();
    for (customer& c : all) sorted_.push_back(&c);
    // The identifier orders customers with equal names, so that the order is the same in every run.
    std::ranges::sort(sorted_, {},
                      [](const customer* c) { return std::tuple{c->last.view(), c->first.view(), c->id}; });
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const text<16>& last = sorted_[i]->last;
        if (names_.empty() || names_.back().last.view() != last.view()) names_.push_back({last, i});
    }
}

std::span<customer* const> customer_names::find(std::string_view last) const {
    const auto name = std::ranges::lower_bound(names_, last, {}, [](const entry& e) { return e.last.view(); });
    if (name == names_.end() || name->last.view() != last) return {};
    const std::size_t end = std::next(name) == names_.end() ? sorted_.size() : std::next(name)->begin;
    return std::span{sorted_}.subspan(name->begin, end - name->begin);
}

customer* customer_names::middle(std::string_view last) const {
    const std::span<customer* const> namesakes = find(last);
    return namesakes.empty() ? nullptr : namesakes[middle_of(namesakes.size())];
}

}  // namespace tpcc
