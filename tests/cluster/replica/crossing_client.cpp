#include "cluster/replica/crossing_client.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace tutti::cluster::replica::testing {

using backend::engine_status;
using backend::freshness;
using cluster::testing::writer_tag;

bool crossing_client::kill() {
    if (!stack_.runs()) return false;
    stack_.kill();
    commits_ = false;
    committer_.reset();
    engine_.reset();
    return true;
}

void crossing_client::connect() {
    std::vector<std::unique_ptr<backend::group_engine>> all;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        all.push_back(std::make_unique<simulated_group>(events_, stack_, *groups_[i], i + 1, env_, how_.answer,
                                                        how_.request_timeout));
    }
    const std::chrono::milliseconds request_timeout{how_.request_timeout / ms};
    backend::settings how;
    how.request_timeout = request_timeout;
    engine_ = std::make_unique<backend::sharded_engine>(std::move(all), how_.first, how, env_);
    committer_ = std::make_unique<backend::exactly_once>(*engine_, request_timeout);
}

void crossing_client::live() {
    connect();
    pause(300 * ms);
    while (made_ < how_.attempts) {
        ++made_;
        attempt_once();
        pause(150 * ms);
    }
}

key crossing_client::companion_of(std::uint64_t i) const {
    const std::size_t slots = backend::slots_for(how_.first);
    key k;
    for (unsigned n = 0; k.empty() || backend::stable_hash(k) % slots != backend::stable_hash(name_of(i)) % slots; ++n)
        k = "l" + std::to_string(i) + "." + std::to_string(n);
    return k;
}

bool crossing_client::read(writer_tag tag, backend::read_snapshot& state, freshness how,
                           std::vector<backend::check>& held, const std::vector<std::uint64_t>& wanted) {
    std::vector<key> keys;
    for (const std::uint64_t i : wanted) keys.push_back(name_of(i));
    for (const std::uint64_t i : wanted) keys.push_back(companion_of(i));
    std::vector<backend::record> found;
    if (engine_->get(state, how, held, keys, found) != engine_status::good) return false;
    past_.of(tag).ended = events_.now();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::uint64_t by = found[i].exists ? std::stoull(found[i].bytes) : 0;
        past_.of(tag).reads.push_back({{0, wanted[i]}, found[i].exists, found[i].at, by});
        held.push_back({keys[i], found[i].at});
        const backend::record& beside = found[wanted.size() + i];
        held.push_back({keys[wanted.size() + i], beside.at});
        if (beside.exists != has_companion(by) || (beside.exists && beside.bytes != found[i].bytes)) {
            wrong_ = "attempt " + std::to_string(tag) + " read " + keys[i] + " of " + std::to_string(by) + ", and " +
                     keys[wanted.size() + i] + (beside.exists ? " of " + beside.bytes : " does not exist");
        }
    }
    return true;
}

bool crossing_client::read_some(writer_tag tag, std::vector<backend::check>& held) {
    std::set<std::uint64_t> opened;
    backend::read_snapshot state;
    for (std::uint64_t steps = events_.between(1, 3); steps > 0; --steps) {
        std::vector<std::uint64_t> wanted;
        for (std::uint64_t k = events_.between(1, 2); k > 0; --k) {
            const std::uint64_t one = events_.below(how_.objects);
            if (opened.insert(one).second) wanted.push_back(one);
        }
        const freshness how = events_.chance(20) ? freshness::now : freshness::same;
        if (!read(tag, state, how, held, wanted)) return false;
        if (events_.chance(25)) pause((events_.chance(20) ? 1000 : 40) * ms);
    }
    return true;
}

engine_status crossing_client::write(writer_tag tag, std::vector<backend::check> held,
                                     const std::vector<std::uint64_t>& which) {
    std::vector<backend::write> writes;
    attempt_outcome t{tag, engine_status::unknown, {}};
    for (const std::uint64_t i : which) {
        writes.push_back({companion_of(i), has_companion(tag), has_companion(tag) ? std::to_string(tag) : ""});
        writes.push_back({name_of(i), true, std::to_string(tag)});
        t.writes.push_back(name_of(i));
    }
    std::set<std::size_t> touched;
    for (const backend::check& c : held) touched.insert(engine_->group_of(c.of));
    crossings_ += touched.size() > 1 ? 1 : 0;
    outcomes_.push_back(t);  // recorded now, because the program may be killed before it hears more
    const std::size_t mine = outcomes_.size() - 1;
    past_.of(tag).ended = 0;
    backend::version at = 0;
    commits_ = true;
    const engine_status result = committer_->commit(held, writes, at);
    commits_ = false;
    outcomes_[mine].result = result;
    if (result != engine_status::unknown) past_.of(tag).ended = events_.now();
    return result;
}

void crossing_client::attempt_once() {
    // Each attempt counts as a client of its own: an unknown commit may happen after the next attempt.
    const writer_tag tag = past_.begin(static_cast<unsigned>(past_.attempts().size()));
    past_.of(tag).begun = events_.now();
    std::vector<backend::check> held;
    if (!read_some(tag, held) || held.empty() || events_.chance(20)) return;
    std::vector<std::uint64_t> which;
    for (const cluster::testing::seen& s : std::vector{past_.of(tag).reads}) {
        if (events_.chance(60)) which.push_back(s.id.low);
    }
    if (!which.empty()) static_cast<void>(write(tag, std::move(held), which));
}

void crossing_client::look_last() {
    connect();
    // Also checks that no transaction holds a slot, and that exactly one group has each slot.
    backend::slot_map& known = engine_->known_slots();
    std::vector<std::uint32_t> slots(known.slots());
    std::iota(slots.begin(), slots.end(), 0u);
    owners_.assign(slots.size(), 0);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        auto result = known.read_records(i, slots);
        while (!result) {
            pause(100 * ms);
            result = known.read_records(i, slots);
        }
        for (const std::uint32_t s : slots) owners_[s] += known.owns(i, s, (*result)[s]) ? 1 : 0;
    }
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < how_.objects; ++i) {
        all.push_back(i);
        for (bool done = false; !done;) {
            const writer_tag tag = past_.begin(static_cast<unsigned>(past_.attempts().size()));
            past_.of(tag).begun = events_.now();
            std::vector<backend::check> held;
            backend::read_snapshot state;
            done =
                read(tag, state, freshness::now, held, {i}) && write(tag, std::move(held), {i}) == engine_status::good;
            if (!done) pause(100 * ms);
        }
    }
    for (bool done = false; !done;) {
        const writer_tag tag = past_.begin(static_cast<unsigned>(past_.attempts().size()));
        past_.of(tag).begun = events_.now();
        std::vector<backend::check> held;
        backend::read_snapshot state;
        done = read(tag, state, freshness::now, held, all);
        if (!done) pause(100 * ms);
    }
}

}  // namespace tutti::cluster::replica::testing
