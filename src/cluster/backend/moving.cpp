#include "cluster/backend/moving.hpp"

#include <algorithm>
#include <utility>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

using state = slot_record::state;

constexpr std::size_t most_bytes = 1u << 20, most_records = 1000;  // of one adopt, unless one record is larger
constexpr std::size_t few = 64;       // changes after which a slot may be closed: it stays so for as long as they take
const key never_written{"a"};         // by anybody: its version is that of keys without a record
constexpr unsigned most_rounds = 30;  // of copying what was written meanwhile, and of switches that come too late

}  // namespace

bool moving::look(std::size_t part, const std::vector<std::uint32_t>& slots, marks& now,
                  std::vector<slot_record>& said) {
    auto all = places_.ask(part, slots);
    if (!all) return false;
    said = std::move(*all);
    now.clear();
    for (std::size_t i = 0; i < slots.size(); ++i) now.push_back({slot_record::key_of(slots[i]), said[i].at});
    return true;
}

bool moving::has_all(std::size_t part, const std::vector<std::uint32_t>& slots,
                     const std::vector<slot_record>& said) const {
    bool all = true;
    for (std::size_t i = 0; i < slots.size(); ++i) all &= places_.owns(part, slots[i], said[i]);
    return all;
}

verdict moving::say(std::size_t part, marks& was, const std::string& text) {
    std::vector<write> writes;
    for (const check& c : was) writes.push_back({c.of, true, text});
    meeting waits{others_};
    while (true) {
        request r;
        r.checks = was;
        r.writes = writes;
        parts_[part].asked->commit(r);
        if (r.said == verdict::good) {
            for (check& c : was) c.at = r.at;
        }
        if (r.said != verdict::conflict || !r.met) return r.said;
        if (!waits.wait(r.met, part)) return verdict::unreachable;
    }
}

verdict moving::adopt(std::size_t part, const marks& still, std::span<const change> records, version absence,
                      const std::function<verdict()>& again) {
    for (std::size_t i = 0; i < records.size() || absence != 0;) {
        std::size_t bytes = 0, next = i;
        while (next < records.size() && next - i < most_records && (next == i || bytes < most_bytes)) {
            bytes += records[next].of.size() + records[next].is.bytes.size();
            ++next;
        }
        counts_.bytes += bytes;
        meeting waits{others_};
        tries lost{others_.patience(), others_.by()};
        while (true) {
            request r;
            r.checks = still;
            parts_[part].group->adopt(r, records.subspan(i, next - i), absence);
            if (r.said == verdict::good) break;
            // An adopt may be done twice, so one that is lost is sent again.
            if (r.said == verdict::unknown && lost.again()) {
                if (const verdict said = again(); said != verdict::good) return said;
                continue;
            }
            if (r.said != verdict::conflict || !r.met) return r.said;
            if (!waits.wait(r.met, part)) return verdict::unreachable;
        }
        i = next;
        absence = 0;
    }
    return verdict::good;
}

std::function<verdict()> moving::arrive_again(std::size_t from, std::size_t to, marks& arriving) {
    // The lost adopt may come after later ones, and after this group has dropped an erased record that these brought.
    return [this, from, to, &arriving] {
        if (injected(fault::copies_come_late)) return verdict::good;
        return say(to, arriving, slot_record::text(state::arriving, parts_[from].group->number()));
    };
}

verdict moving::copy_all(const slot_set& which, std::size_t from, std::size_t to, marks& arriving, listing& place,
                         bool is_empty) {
    const auto again = arrive_again(from, to, arriving);
    place = {};
    std::vector<change> found;
    if (!is_empty && !injected(fault::copies_left)) {
        if (const verdict said = clear(to, which, arriving, again); said != verdict::good) return said;
    }
    while (!place.over) {
        found.clear();
        if (parts_[from].group->list(place, which, found) != verdict::good) return verdict::unreachable;
        if (injected(fault::marks_left)) std::erase_if(found, [](const change& c) { return c.of.starts_with('m'); });
        counts_.copied += found.size();
        if (const verdict said = adopt(to, arriving, found, place.absence, again); said != verdict::good) return said;
    }
    return verdict::good;
}

verdict moving::copy_changes(const slot_set& which, std::size_t from, std::size_t to, marks& arriving, listing& place,
                             std::size_t& count) {
    const auto again = arrive_again(from, to, arriving);
    std::vector<change> found;
    count = 0;
    for (place.over = false; !place.over;) {
        found.clear();
        const version absence = place.absence;
        const verdict known = parts_[from].group->changed(place, which, found);
        if (known != verdict::good) return known;
        if (injected(fault::moved_without_changes)) found.clear();
        if (injected(fault::marks_left)) std::erase_if(found, [](const change& c) { return c.of.starts_with('m'); });
        count += found.size();
        counts_.again += found.size();
        const version news = place.absence == absence && found.empty() ? 0 : place.absence;
        if (const verdict said = adopt(to, arriving, found, news, again); said != verdict::good)
            return said == verdict::conflict ? verdict::refused : said;
    }
    return verdict::good;
}

verdict moving::change_hands(std::size_t from, std::size_t to, const marks& closed, const marks& arriving,
                             version absence) {
    const auto share_of = [](std::size_t part, const marks& was, state is, std::uint64_t other) {
        share s;
        s.part = part;
        for (const check& c : was) {
            s.checks.push_back(c);
            s.writes.push_back({c.of, true, slot_record::text(is, other)});
        }
        return s;
    };
    std::vector<share> both{share_of(from, closed, state::gone, parts_[to].group->number()),
                            share_of(to, arriving, state::own, 0)};
    if (!injected(fault::drops_unchecked)) both.front().checks.push_back({never_written, absence});
    if (injected(fault::moved_in_two)) {
        marks first = arriving, second = closed;
        if (const verdict said = say(to, first, slot_record::text(state::own)); said != verdict::good) return said;
        return say(from, second, slot_record::text(state::gone, parts_[to].group->number()));
    }
    std::ranges::sort(both, {}, &share::part);
    request r;
    both_.commit(r, both, both.back().part);
    return r.said;
}

moving::end moving::move(const std::vector<std::uint32_t>& slots, std::size_t from, std::size_t to) {
    const slot_set which{places_.slots(), slots};
    const auto ended = [](verdict said) {
        return said == verdict::conflict || said == verdict::refused ? end::elsewhere : end::unreachable;
    };
    marks here, there;
    std::vector<slot_record> said_here, said_there;
    if (!look(from, slots, here, said_here) || !look(to, slots, there, said_there)) return end::unreachable;
    if (!has_all(from, slots, said_here)) return end::elsewhere;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (places_.owns(to, slots[i], said_there[i])) return end::elsewhere;
    }
    if (std::ranges::any_of(said_here, [](const slot_record& r) { return r.is == state::closed; })) {
        if (const verdict said = say(from, here, slot_record::text(state::own)); said != verdict::good)
            return ended(said);
    }
    const std::string arrives = slot_record::text(state::arriving, parts_[from].group->number());
    if (!injected(fault::arrives_unsaid)) {
        if (const verdict said = say(to, there, arrives); said != verdict::good) return ended(said);
    }
    listing place;
    bool copied = false;
    // One that the slots have never come to holds nothing of them.
    bool is_empty = std::ranges::all_of(said_there, [](const slot_record& r) { return r.is == state::unsaid; });
    for (unsigned round = 0; round < most_rounds; ++round) {
        if (!copied) {
            const verdict said = copy_all(which, from, to, there, place, std::exchange(is_empty, false));
            if (said != verdict::good) return ended(said);
        }
        std::size_t count = 0;
        const auto changes = [&] {
            const verdict said = copy_changes(which, from, to, there, place, count);
            copied = said != verdict::conflict;  // what is not known so far back is copied anew
            return said;
        };
        if (const verdict said = changes(); said == verdict::conflict) continue;
        else if (said != verdict::good) return ended(said);
        if (count > few && round + 4 < most_rounds) continue;
        if (!injected(fault::moved_open)) {
            const verdict said = say(from, here, slot_record::text(state::closed, parts_[to].group->number()));
            if (said == verdict::unreachable) return end::unreachable;
            if (said != verdict::good) {  // opened again by a program, or closed though no answer came
                if (!look(from, slots, here, said_here)) return end::unreachable;
                if (!has_all(from, slots, said_here)) return end::elsewhere;
                continue;
            }
            if (const verdict last = changes(); last != verdict::good) {
                if (last != verdict::conflict) return ended(last);
            }
        }
        const verdict said = copied ? change_hands(from, to, here, there, place.absence) : verdict::conflict;
        marks now;
        if (!look(to, slots, now, said_there) || !look(from, slots, here, said_here)) return end::unreachable;
        if (has_all(to, slots, said_there)) {
            const placing::map known = *places_.now();
            static_cast<void>(places_.learn(slots, known));
            // The next mover clears what stays; and what has come back by now is none of that.
            if (std::ranges::all_of(said_here, [](const slot_record& r) { return r.is == state::gone; }))
                static_cast<void>(clear(from, which, here, [] { return verdict::good; }));
            return end::moved;
        }
        // Where it arrives anew, others have cleared what was copied.
        if (now != there || !has_all(from, slots, said_here)) return end::elsewhere;
        if (said == verdict::unreachable) break;
    }
    static_cast<void>(say(from, here, slot_record::text(state::own)));  // or programs do
    return end::unreachable;
}

bool moving::settle(std::size_t part, const std::set<std::uint64_t>& decided_by) {
    const slot_set none;
    std::vector<change> nothing;
    tries all{others_.patience() + settling::grace, others_.by()};
    do {
        listing now;
        if (parts_[part].group->list(now, none, nothing) != verdict::good) return false;
        std::erase_if(now.prepared, [&](const holder& h) { return !decided_by.contains(h.decides); });
        if (now.prepared.empty()) return true;
        for (const holder& h : now.prepared) others_.settle(h, part);
    } while (all.again());
    return false;
}

verdict moving::clear(std::size_t part, const slot_set& which, const marks& still,
                      const std::function<verdict()>& again) {
    listing place;
    std::vector<change> found;
    while (!place.over) {
        found.clear();
        if (parts_[part].group->list(place, which, found) != verdict::good) return verdict::unreachable;
        for (change& c : found) c.is = {};
        if (const verdict said = adopt(part, still, found, 0, again); said != verdict::good) return said;
    }
    return verdict::good;
}

bool moving::clear(std::size_t part) {
    std::vector<std::uint32_t> all(places_.slots());
    for (std::uint32_t s = 0; s < all.size(); ++s) all[s] = s;
    marks now;
    std::vector<slot_record> said;
    if (!look(part, all, now, said)) return false;
    slot_set gone{places_.slots(), {}};
    marks still;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (said[i].is == state::arriving) {
            marks one{now[i]};  // a mover that still sends copies is refused from here on
            if (say(part, one, slot_record::text(state::gone, said[i].other)) != verdict::good) continue;
            now[i] = one.front();
        } else if (said[i].is != state::gone) {
            continue;
        }
        gone.some.push_back(all[i]);
        still.push_back(now[i]);
    }
    return gone.some.empty() || clear(part, gone, still, [] { return verdict::good; }) == verdict::good;
}

}  // namespace tutti::cluster::backend
