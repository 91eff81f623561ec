// Which of two conflicting blocks gives way: a choice for the process, or for one block.
#include <cstdio>
#include <string>
#include <thread>
#include <tutti/tutti.hpp>

namespace {

constexpr long rounds = 2000;

tutti::var<long> visits{0}, orders{0};

/// Every block uses `visits`. A customer who orders has a higher priority than one who looks.
void look() {
    for (long i = 0; i < rounds; ++i) {
        tutti::atomically([](tutti::tx& t) { visits.set(t, visits.get(t) + 1); });
    }
}
void order() {
    for (long i = 0; i < rounds; ++i) {
        tutti::atomically({.policy = tutti::policy::priority, .priority = 1}, [](tutti::tx& t) {
            visits.set(t, visits.get(t) + 1);
            orders.set(t, orders.get(t) + 1);
        });
    }
}

}  // namespace

int main() {
    bool right = true;
    for (const auto& p : tutti::available_policies()) {
        tutti::use_policy(p.name);  // possible at any time, unlike for the algorithm; TUTTI_POLICY has the same effect
        visits.store(0);
        orders.store(0);
        { const std::jthread first{look}, second{look}, third{order}; }  // the threads end here
        // The policy decides which block waits and which restarts. The policy does not change the result.
        right = right && visits.load() == 3 * rounds && orders.load() == rounds;
        std::printf("%-14s %s\n", std::string{p.name}.c_str(), std::string{p.summary}.c_str());
    }
    try {
        tutti::use_policy("polite");
        right = false;
    } catch (const tutti::usage_error& error) {
        std::printf("%s\n", error.what());
    }
    return right ? 0 : 1;
}
