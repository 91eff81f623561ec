#include "cluster/backend/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {
namespace {

const key where_it_is{"g"};

/// Returns the group's record, or nothing if the group does not answer.
std::optional<record> look(engine& at) {
    snapshot any;
    std::vector<record> found;
    if (at.get(any, freshness::now, {}, {&where_it_is, 1}, found) != verdict::good) return std::nullopt;
    return found.front();
}

record look_or_refuse(engine& at) {
    if (auto now = look(at)) return std::move(*now);
    throw refusal{at.can().name + " does not answer"};
}

verdict put(engine& at, version was, const std::string& text, std::string& why) {
    const check still{where_it_is, was};
    const write it{where_it_is, true, text};
    request r;
    r.checks = {&still, 1};
    r.writes = {&it, 1};
    at.commit(r);
    why = r.why;
    return r.said;
}

/// Writes the record unless there is one. Returns the record's content afterwards.
std::string settle(engine& at, const std::string& wanted) {
    for (tries all{std::chrono::seconds{5}};;) {
        const record now = look_or_refuse(at);
        if (now.exists) return now.bytes;
        std::string why;
        const verdict said = put(at, now.at, wanted, why);
        if (said == verdict::good) return wanted;
        if (said == verdict::refused) throw refusal{why};
        if (!all.again()) throw refusal{at.can().name + " does not answer"};
    }
}

/// Makes the group record that it keeps the prefix alone, whatever its former number was.
layout take_over(group_engine& g) {
    const std::string alone = std::to_string(g.number());
    for (tries all{std::chrono::seconds{5}};;) {
        const record now = look_or_refuse(g);
        std::string why;
        if (now.bytes == alone || put(g, now.at, alone, why) == verdict::good) return layout::read(alone);
        if (!all.again()) throw refusal{g.can().name + " does not answer"};
    }
}

std::vector<std::string> apart(std::string_view all, char at) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= all.size();) {
        const std::size_t end = std::min(all.find(at, from), all.size());
        if (end > from) parts.emplace_back(all.substr(from, end - from));
        from = end + 1;
    }
    return parts;
}

template <class T>
T number_in(std::string_view text) {
    T value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string names_of(const std::vector<std::unique_ptr<group_engine>>& groups) {
    std::string all;
    for (const auto& g : groups) all += (all.empty() ? "" : " ") + std::to_string(g->number());
    return all;
}

std::string names_of(const layout& l) {
    std::string all;
    for (const layout::entry& e : l.all) {
        if (!e.left) all += (all.empty() ? "" : " ") + std::to_string(e.number);
    }
    return all;
}

}  // namespace

std::size_t layout::first() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(all, false, &entry::joined));
}

layout::entry* layout::find(std::uint64_t number) noexcept {
    const auto at = std::ranges::find(all, number, &entry::number);
    return at == all.end() ? nullptr : &*at;
}

std::string layout::text() const {
    std::string said = change == 0 ? "" : "#" + std::to_string(change);
    for (const entry& e : all) {
        said += (said.empty() ? "" : " ") + std::string{e.joined ? "+" : ""} + std::to_string(e.number) +
                (e.left ? "-" : "");
        for (const std::string& a : e.addresses) said += (&a == &e.addresses.front() ? "@" : ",") + a;
    }
    return said;
}

layout layout::read(std::string_view text) {
    layout l;
    for (const std::string& word : apart(text, ' ')) {
        std::string_view left{word};
        if (left.starts_with('#')) {
            l.change = number_in<std::uint64_t>(left.substr(1));
            continue;
        }
        entry& e = l.all.emplace_back();
        e.joined = left.starts_with('+');
        if (e.joined) left.remove_prefix(1);
        e.number = number_in<std::uint64_t>(left);
        const std::size_t at = std::min(left.find('@'), left.size());
        e.left = left.substr(0, at).ends_with('-');
        if (at < left.size()) e.addresses = apart(left.substr(at + 1), ',');
    }
    return l;
}

layout look_up_layout(engine& at) {
    const auto now = look(at);
    return now && now->exists ? layout::read(now->bytes) : layout{};
}

bool change_layout(std::vector<group_engine*> groups, const layout& to) {
    std::ranges::sort(groups, {}, &group_engine::number);
    for (group_engine* const g : groups) {
        const auto now = look(*g);
        if (!now) return false;
        const std::uint64_t known = layout::read(now->bytes).change;
        if (known == to.change && now->bytes == to.text()) continue;
        std::string why;
        if (known >= to.change || put(*g, now->at, to.text(), why) != verdict::good) return false;
    }
    return true;
}

layout settle_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix,
                     const opener& open) {
    std::vector<group_engine*> by_number;
    for (const auto& g : groups) by_number.push_back(g.get());
    std::ranges::sort(by_number, {}, &group_engine::number);
    if (const auto twice = std::ranges::adjacent_find(by_number, {}, &group_engine::number); twice != by_number.end())
        throw refusal{(*twice)->can().name + " is the same as " + (*std::next(twice))->can().name + ": name it once"};
    std::string order = names_of(groups);
    for (group_engine* const g : by_number) {
        if (const record now = look_or_refuse(*g); now.exists) order = now.bytes;
    }
    // Every program starts with the same group. So if two programs begin at once, one of them is first everywhere.
    std::vector<layout> said;
    for (group_engine* const g : by_number) {
        order = settle(*g, order);
        said.push_back(layout::read(order));
    }
    // A single group with another number in its record has been forced to start again with its own data.
    if (said.size() == 1 && said.front().all.size() == 1 && said.front().all.front().number != groups.front()->number())
        said.front() = take_over(*groups.front());
    const auto newest = std::ranges::max_element(said, {}, &layout::change);
    const auto refuse = [&](const layout& l, const group_engine& by) {
        throw refusal{"the objects of '" + prefix + "' are in other groups than those that are named: " +
                      by.can().name + " keeps them with the groups " + names_of(l) + ", and named are " +
                      names_of(groups) + ": give the address that the other programs give, or another prefix"};
    };
    for (std::size_t i = 0; i < said.size(); ++i) {
        const bool same = said[i].change != newest->change || said[i].text() == newest->text();
        if (!same || newest->find(by_number[i]->number()) == nullptr) refuse(said[i], *by_number[i]);
    }
    std::vector<std::unique_ptr<group_engine>> ordered;
    for (const layout::entry& e : newest->all) {
        const auto named =
            std::ranges::find_if(groups, [&](const auto& g) { return g != nullptr && g->number() == e.number; });
        if (named != groups.end()) ordered.push_back(std::move(*named));
        else if (open) ordered.push_back(open(e));
        else ordered.emplace_back();
        if (!ordered.back()) {
            std::erase(groups, nullptr);
            for (auto& one : ordered) {
                if (one) groups.push_back(std::move(one));
            }
            refuse(*newest, *groups.front());
        }
    }
    groups = std::move(ordered);
    return *newest;
}

}  // namespace tutti::cluster::backend
