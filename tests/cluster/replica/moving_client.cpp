#include "cluster/replica/moving_client.hpp"

#include <algorithm>

namespace tutti::cluster::replica::testing {

bool moving_client::kill() {
    if (!stack_.runs()) return false;
    stack_.kill();
    engine_.reset();
    return true;
}

void moving_client::live() {
    std::vector<std::unique_ptr<backend::group_engine>> all;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        all.push_back(std::make_unique<simulated_group>(events_, stack_, *groups_[i], i + 1, env_, how_.answer,
                                                        how_.request_timeout));
    }
    backend::settings how;
    how.request_timeout = std::chrono::milliseconds{how_.request_timeout / ms};
    engine_ = std::make_unique<backend::sharded_engine>(std::move(all), how_.first, how, env_);
    pause(500 * ms);
    // Removes the leftovers of a killed program.
    for (std::size_t i = 0; i < groups_.size() && events_.chance(70); ++i)
        static_cast<void>(engine_->migrator().clear(i));
    while (made_ < how_.moves) {
        ++made_;
        move_some();
        pause(events_.chance(50) ? 10 * ms : 400 * ms);
    }
}

void moving_client::move_some() {
    using end = backend::slot_migrator::migration_result;
    // Any slot may have commit records, but only a few have objects.
    const bool many = events_.chance(40);
    std::vector<std::uint32_t> slots;
    const auto slots_in_all = static_cast<std::uint32_t>(backend::slots_for(how_.first));
    const auto slot_of = [&](std::uint64_t i) {
        return static_cast<std::uint32_t>(backend::stable_hash("o" + std::to_string(i)) % slots_in_all);
    };
    std::vector<std::uint32_t> candidates;
    for (std::uint64_t i = 0; i < how_.objects; ++i) {
        if (many || events_.chance(40)) candidates.push_back(slot_of(i));
    }
    for (std::uint32_t more = many ? 96 : 0; more > 0; --more)
        candidates.push_back(static_cast<std::uint32_t>(events_.below(slots_in_all)));
    std::ranges::sort(candidates);
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    if (candidates.empty()) return;
    static_cast<void>(engine_->known_slots().find_owners(candidates, *engine_->known_slots().locations()));
    const auto now = engine_->known_slots().locations();
    const std::size_t from = (*now)[candidates[events_.below(candidates.size())]].group;
    for (const std::uint32_t s : candidates) {
        if ((*now)[s].group == from && events_.chance(60)) slots.push_back(s);
    }
    if (slots.empty()) return;
    const std::size_t to = (from + 1 + events_.below(groups_.size() - 1)) % groups_.size();
    backend::slot_migrator one = engine_->migrator();
    switch (one.migrate(slots, from, to)) {
        case end::moved: ++counts_.moved; break;
        case end::superseded: ++counts_.elsewhere; break;
        case end::unreachable: ++counts_.unreachable; break;
    }
    counts_.copied += one.statistics().copied;
    counts_.again += one.statistics().copied_again;
}

}  // namespace tutti::cluster::replica::testing
