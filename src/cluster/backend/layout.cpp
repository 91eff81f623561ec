#include "cluster/backend/layout.hpp"

#include <algorithm>
#include <cstdint>

#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {
namespace {

const key where_it_is{"g"};

std::string names_of(const std::vector<std::unique_ptr<group_engine>>& groups) {
    std::string all;
    for (const auto& g : groups) all += (all.empty() ? "" : " ") + std::to_string(g->number());
    return all;
}

record look(group_engine& at) {
    snapshot any;
    std::vector<record> found;
    if (at.get(any, freshness::now, {}, {&where_it_is, 1}, found) != verdict::good)
        throw refusal{at.can().name + " does not answer"};
    return found.front();
}

/// What it says then: this, or what another program was first with.
std::string settle(group_engine& at, const std::string& wanted) {
    for (tries all{std::chrono::seconds{5}};;) {
        const record now = look(at);
        if (now.exists) return now.bytes;
        const check none{where_it_is, now.at};
        const write it{where_it_is, true, wanted};
        request r;
        r.checks = {&none, 1};
        r.writes = {&it, 1};
        at.commit(r);
        if (r.said == verdict::good) return wanted;
        if (r.said == verdict::refused) throw refusal{r.why};
        if (!all.again()) throw refusal{at.can().name + " does not answer"};
    }
}

}  // namespace

void settle_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix) {
    std::vector<group_engine*> by_number;
    for (const auto& g : groups) by_number.push_back(g.get());
    std::ranges::sort(by_number, {}, &group_engine::number);
    if (const auto twice = std::ranges::adjacent_find(by_number, {}, &group_engine::number); twice != by_number.end())
        throw refusal{(*twice)->can().name + " is the same as " + (*std::next(twice))->can().name + ": name it once"};
    std::string order = names_of(groups);
    for (group_engine* const g : by_number) {
        if (const record now = look(*g); now.exists) order = now.bytes;
    }
    // The same one first, whatever the order: so of two programs that begin at once one is first everywhere.
    for (group_engine* const g : by_number) {
        const std::string said = settle(*g, order);
        if (g == by_number.front()) order = said;
        std::vector<std::uint64_t> named;
        for (std::size_t from = 0; from < said.size(); from = std::min(said.find(' ', from), said.size() - 1) + 1)
            named.push_back(std::strtoull(said.c_str() + from, nullptr, 10));
        const auto place = [&](const auto& of) { return std::ranges::find(named, of->number()); };
        const bool all = std::ranges::all_of(groups, [&](const auto& of) { return place(of) != named.end(); });
        if (!all || named.size() != groups.size() || said != order) {
            throw refusal{"the objects of '" + prefix + "' are in other groups than those that are named: " +
                          g->can().name + " keeps them with the groups " + said + ", and named are " +
                          names_of(groups) + ": give the address that the other programs give, or another prefix"};
        }
        std::ranges::sort(groups, {}, place);
    }
}

}  // namespace tutti::cluster::backend
