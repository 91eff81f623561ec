// Checks that the search runs all orders, each once, against a search that tries every event at every step.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "cluster/exploration.hpp"

namespace {

using namespace tutti::cluster::testing;

/// The sequence of events at each place. Orders with the same trace are equivalent.
using trace = std::map<unsigned, std::vector<std::uint64_t>>;

/// A program whose events cause other events. Which events an event causes depends on whether its place has had an
/// event before.
class toy final : public run {
public:
    toy(std::uint64_t seed, std::multiset<trace>& seen) : seed_{seed}, seen_{seen} {
        for (std::uint64_t i = 0; i < 2 + mix(seed_) % 2; ++i) add(mix(seed_ + i), 0);
    }
    event_set& events() noexcept override { return event_set_; }
    std::string verdict() override {
        seen_.insert(trace_);
        return {};
    }

private:
    static constexpr unsigned places = 3, longest = 3;  // longest: number of events in a chain of causes

    static std::uint64_t mix(std::uint64_t x) {
        x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
        return x ^ (x >> 29);
    }
    void add(std::uint64_t name, unsigned depth) {
        const auto place = static_cast<unsigned>(mix(name) % places);
        event_set_.add(place, std::to_string(name), [this, name, place, depth] {
            std::vector<std::uint64_t>& before = trace_[place];
            // The first event at a place causes different events than later ones.
            const std::uint64_t kind = mix(name + (before.empty() ? 1 : 2)) % 3;
            before.push_back(name);
            if (kind != 0 && depth + 1 < longest) add(mix(name * 8 + kind), depth + 1);
        });
    }

    const std::uint64_t seed_;
    std::multiset<trace>& seen_;
    event_set event_set_;
    trace trace_;
};

/// Tries every pending event at every step.
void try_all(std::uint64_t seed, std::vector<unsigned>& chosen, std::multiset<trace>& seen) {
    std::multiset<trace> of_this;
    toy one{seed, of_this};
    for (const unsigned c : chosen) one.events().run_event(c);
    const std::vector<unsigned> pending = one.events().pending();
    if (pending.empty()) {
        static_cast<void>(one.verdict());
        seen.merge(of_this);
        return;
    }
    for (const unsigned next : pending) {
        chosen.push_back(next);
        try_all(seed, chosen, seen);
        chosen.pop_back();
    }
}

TEST(cluster_exploration, runs_each_order_once) {
    std::size_t orders = 0, traces = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::multiset<trace> all, found;
        std::vector<unsigned> chosen;
        try_all(seed, chosen, all);
        const exploration e = explore({}, [&] { return std::make_unique<toy>(seed, found); });
        ASSERT_TRUE(e.complete);
        const std::set<trace> different{all.begin(), all.end()};
        ASSERT_EQ(std::set<trace>(found.begin(), found.end()), different) << "seed " << seed;
        ASSERT_EQ(e.orders, different.size()) << "seed " << seed;
        orders += all.size();
        traces += different.size();
    }
    EXPECT_GT(traces, 200u);
    EXPECT_GT(orders, 4 * traces) << "most orders are like others";
}

/// Two events of one place. The second is an error if it happens first.
class hasty final : public run {
public:
    hasty() {
        event_set_.add(0, "sets", [this] { set_ = true; });
        event_set_.add(1, "causes", [this] {
            event_set_.add(0, "uses", [this] { wrong_ = set_ ? "" : "used before it was set"; });
        });
    }
    event_set& events() noexcept override { return event_set_; }
    std::string verdict() override { return wrong_; }

private:
    event_set event_set_;
    bool set_ = false;
    std::string wrong_;
};

TEST(cluster_exploration, reports_a_wrong_order) {
    const exploration e = explore({}, [] { return std::make_unique<hasty>(); });
    EXPECT_FALSE(e.complete);
    EXPECT_EQ(e.wrong, "used before it was set");
    EXPECT_EQ(e.order, (std::vector<std::string>{"causes", "uses", "sets"}));
}

/// Each event causes another one.
class endless final : public run {
public:
    endless() { go_on(); }
    event_set& events() noexcept override { return event_set_; }
    std::string verdict() override { return {}; }

private:
    void go_on() {
        event_set_.add(0, "again", [this] { go_on(); });
    }
    event_set event_set_;
};

TEST(cluster_exploration, reports_an_endless_order) {
    EXPECT_EQ(explore({.events = 20}, [] { return std::make_unique<endless>(); }).wrong, no_end);
}

}  // namespace
