#include "cluster/backend/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "cluster/backend/backoff_timer.hpp"

namespace tutti::cluster::backend {
namespace {

const key layout_key{"g"};

/// Returns the group's layout record, or nullopt if the group does not answer.
std::optional<record> read_layout_record(engine& at) {
    read_snapshot any;
    std::vector<record> found;
    if (at.get(any, freshness::now, {}, {&layout_key, 1}, found) != engine_status::good) return std::nullopt;
    return found.front();
}

record require_layout_record(engine& at) {
    if (auto now = read_layout_record(at)) return std::move(*now);
    throw engine_error{at.abilities().name + " does not answer"};
}

engine_status write_layout_record(engine& at, version was, const std::string& text, std::string& reason) {
    const check still{layout_key, was};
    const write it{layout_key, true, text};
    request r;
    r.checks = {&still, 1};
    r.writes = {&it, 1};
    at.commit(r);
    reason = r.reason;
    return r.status;
}

/// Writes the group's layout record unless it exists already. Returns the record's content after this.
std::string write_unless_present(engine& at, const std::string& wanted) {
    for (backoff_timer timer{std::chrono::seconds{5}};;) {
        const record now = require_layout_record(at);
        if (now.exists) return now.bytes;
        std::string reason;
        const engine_status status = write_layout_record(at, now.at, wanted, reason);
        if (status == engine_status::good) return wanted;
        if (status == engine_status::refused) throw engine_error{reason};
        if (!timer.wait()) throw engine_error{at.abilities().name + " does not answer"};
    }
}

/// Writes a layout of only this group into the group's record. Before this, the record may have named the group by a
/// former number.
layout claim_alone(group_engine& g) {
    const std::string alone = std::to_string(g.number());
    for (backoff_timer timer{std::chrono::seconds{5}};;) {
        const record now = require_layout_record(g);
        std::string reason;
        if (now.bytes == alone || write_layout_record(g, now.at, alone, reason) == engine_status::good)
            return layout::parse(alone);
        if (!timer.wait()) throw engine_error{g.abilities().name + " does not answer"};
    }
}

std::vector<std::string> split(std::string_view all, char separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= all.size();) {
        const std::size_t end = std::min(all.find(separator, from), all.size());
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

std::string numbers_of(const std::vector<std::unique_ptr<group_engine>>& groups) {
    std::string all;
    for (const auto& g : groups) all += (all.empty() ? "" : " ") + std::to_string(g->number());
    return all;
}

std::string numbers_of(const layout& l) {
    std::string all;
    for (const layout::group_entry& e : l.groups) {
        if (!e.left) all += (all.empty() ? "" : " ") + std::to_string(e.number);
    }
    return all;
}

}  // namespace

std::size_t layout::initial_group_count() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(groups, false, &group_entry::joined));
}

layout::group_entry* layout::find(std::uint64_t number) noexcept {
    const auto at = std::ranges::find(groups, number, &group_entry::number);
    return at == groups.end() ? nullptr : &*at;
}

std::string layout::text() const {
    std::string text_form = change_count == 0 ? "" : "#" + std::to_string(change_count);
    for (const group_entry& e : groups) {
        text_form += (text_form.empty() ? "" : " ") + std::string{e.joined ? "+" : ""} + std::to_string(e.number) +
                     (e.left ? "-" : "");
        for (const std::string& a : e.addresses) text_form += (&a == &e.addresses.front() ? "@" : ",") + a;
    }
    return text_form;
}

layout layout::parse(std::string_view text) {
    layout l;
    for (const std::string& word : split(text, ' ')) {
        std::string_view left{word};
        if (left.starts_with('#')) {
            l.change_count = number_in<std::uint64_t>(left.substr(1));
            continue;
        }
        group_entry& e = l.groups.emplace_back();
        e.joined = left.starts_with('+');
        if (e.joined) left.remove_prefix(1);
        e.number = number_in<std::uint64_t>(left);
        const std::size_t at = std::min(left.find('@'), left.size());
        e.left = left.substr(0, at).ends_with('-');
        if (at < left.size()) e.addresses = split(left.substr(at + 1), ',');
    }
    return l;
}

layout read_layout(engine& at) {
    const auto now = read_layout_record(at);
    return now && now->exists ? layout::parse(now->bytes) : layout{};
}

bool write_layout(std::vector<group_engine*> groups, const layout& to) {
    std::ranges::sort(groups, {}, &group_engine::number);
    for (group_engine* const g : groups) {
        const auto now = read_layout_record(*g);
        if (!now) return false;
        const std::uint64_t known = layout::parse(now->bytes).change_count;
        if (known == to.change_count && now->bytes == to.text()) continue;
        std::string reason;
        if (known >= to.change_count || write_layout_record(*g, now->at, to.text(), reason) != engine_status::good)
            return false;
    }
    return true;
}

layout agree_on_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix,
                       const group_opener& open) {
    std::vector<group_engine*> by_number;
    for (const auto& g : groups) by_number.push_back(g.get());
    std::ranges::sort(by_number, {}, &group_engine::number);
    if (const auto twice = std::ranges::adjacent_find(by_number, {}, &group_engine::number); twice != by_number.end())
        throw engine_error{(*twice)->abilities().name + " is the same as " + (*std::next(twice))->abilities().name +
                           ": name it once"};
    std::string order = numbers_of(groups);
    for (group_engine* const g : by_number) {
        if (const record now = require_layout_record(*g); now.exists) order = now.bytes;
    }
    // Every program writes to the groups in the same order. So if two programs begin at once, the same program is first
    // at every group.
    std::vector<layout> layouts;
    for (group_engine* const g : by_number) {
        order = write_unless_present(*g, order);
        layouts.push_back(layout::parse(order));
    }
    // If the record of a single group names another number, an operator has forced the group to start again with its
    // own data.
    if (layouts.size() == 1 && layouts.front().groups.size() == 1 &&
        layouts.front().groups.front().number != groups.front()->number())
        layouts.front() = claim_alone(*groups.front());
    const auto newest = std::ranges::max_element(layouts, {}, &layout::change_count);
    const auto refuse = [&](const layout& l, const group_engine& by) {
        throw engine_error{"the objects of '" + prefix + "' are in other groups than the given ones: " +
                           by.abilities().name + " keeps them with the groups " + numbers_of(l) + ", and given are " +
                           numbers_of(groups) + ": use the address of the other programs, or another prefix"};
    };
    for (std::size_t i = 0; i < layouts.size(); ++i) {
        const bool same = layouts[i].change_count != newest->change_count || layouts[i].text() == newest->text();
        if (!same || newest->find(by_number[i]->number()) == nullptr) refuse(layouts[i], *by_number[i]);
    }
    std::vector<std::unique_ptr<group_engine>> ordered;
    for (const layout::group_entry& e : newest->groups) {
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
