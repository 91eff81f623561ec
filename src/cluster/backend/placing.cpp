#include "cluster/backend/placing.hpp"

#include <algorithm>
#include <numeric>

namespace tutti::cluster::backend {

using state = slot_record::state;

placing::placing(const parts& all, settling& others, std::size_t first, std::function<void()> know_more)
    : parts_{all},
      others_{others},
      first_{first},
      slots_{static_cast<std::uint32_t>(slots_for(first))},
      know_more_{std::move(know_more)} {
    map at_first(slots_);
    for (std::size_t s = 0; s < slots_; ++s) at_first[s].part = s % first;
    map_ = std::make_shared<const map>(std::move(at_first));
}

std::shared_ptr<const placing::map> placing::now() const {
    const std::lock_guard hold{guard_};
    return map_;
}

void placing::set(const std::map<std::uint32_t, place>& found) {
    const std::lock_guard hold{guard_};
    map next{*map_};
    for (const auto& [slot, is] : found) next[slot] = is;
    map_ = std::make_shared<const map>(std::move(next));
}

std::optional<std::size_t> placing::part_of(std::uint64_t number) {
    if (parts_.index_of(number) == parts_.size()) know_more_();
    const std::size_t i = parts_.index_of(number);
    return i == parts_.size() ? std::nullopt : std::optional{i};
}

std::optional<std::vector<slot_record>> placing::ask(std::size_t part, std::span<const std::uint32_t> slots) {
    std::vector<key> keys;
    for (const std::uint32_t s : slots) keys.push_back(slot_record::key_of(s));
    std::vector<record> found;
    meeting waits{others_};
    while (true) {
        snapshot any;
        const verdict said = parts_[part].asked->get(any, freshness::now, {}, keys, found);
        if (said == verdict::good) break;
        if (said != verdict::conflict || !any.met || !waits.wait(any.met, part)) return std::nullopt;
    }
    std::vector<slot_record> all;
    for (const record& r : found) all.push_back(slot_record::read(r));
    return all;
}

placing::news placing::learn(std::span<const std::uint32_t> slots, const map& known) {
    constexpr unsigned at_once = 4;  // hops from group to group before a pause, because slots may continue to move
    std::map<std::uint32_t, place> found;
    std::map<std::size_t, std::vector<std::uint32_t>> open;  // by parts
    const auto before = now();
    for (const std::uint32_t s : slots) open[(*before)[s].part].push_back(s);
    tries all{others_.patience(), others_.by()};
    for (unsigned hops = 0; !open.empty(); ++hops) {
        if (hops >= at_once && !all.again()) return news::unreachable;
        const auto [part, asked] = *open.begin();
        open.erase(open.begin());
        const auto said = ask(part, asked);
        if (!said) return news::unreachable;
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const slot_record& r = (*said)[i];
            if (owns(part, asked[i], r)) {
                found[asked[i]] = {part, r.at, r.is == state::closed};
                continue;
            }
            const auto next = r.is == state::unsaid ? std::optional{asked[i] % first_} : part_of(r.other);
            if (!next) return news::unreachable;
            open[*next].push_back(asked[i]);
        }
    }
    set(found);
    const bool same = std::ranges::all_of(found, [&](const auto& one) { return known[one.first] == one.second; });
    return same ? news::none : news::some;
}

placing::news placing::look_around(std::span<const std::size_t> among) {
    std::vector<std::uint32_t> slots(slots_);
    std::iota(slots.begin(), slots.end(), 0u);
    std::map<std::uint32_t, place> found;
    for (const std::size_t part : among) {
        const auto said = ask(part, slots);
        if (!said) return news::unreachable;
        for (const std::uint32_t s : slots) {
            const slot_record& r = (*said)[s];
            if (owns(part, s, r)) found[s] = {part, r.at, r.is == state::closed};
        }
    }
    const auto known = now();
    set(found);
    const bool same = std::ranges::all_of(found, [&](const auto& one) { return (*known)[one.first] == one.second; });
    return same ? news::none : news::some;
}

void placing::settle_closed(std::span<const std::uint32_t> slots, const map& known) {
    for (const std::uint32_t s : slots) {
        const place& p = known[s];
        if (!p.closed) continue;
        const auto now = others_.by().now();
        {
            const std::lock_guard hold{guard_};
            std::erase_if(closed_since_, [&](const auto& one) { return now - one.second > 20 * settling::grace; });
            if (now - closed_since_.try_emplace({s, p.at}, now).first->second < settling::grace) continue;
        }
        const check still{slot_record::key_of(s), p.at};
        const write open{still.of, true, slot_record::text(state::own)};
        request r;
        r.checks = {&still, 1};
        r.writes = {&open, 1};
        parts_[p.part].asked->commit(r);
        if (r.met) others_.settle(r.met, p.part);
    }
    static_cast<void>(learn(slots, known));
}

}  // namespace tutti::cluster::backend
